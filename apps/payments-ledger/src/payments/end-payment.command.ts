import { isUuid } from '@market/kernel';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { SettleAuthorization } from './settle-authorization.js';

/** Ends a signed payment whose outcome is unknown for good, because no RPC server of its chain is named. */
export const endPayment: CommandDefinition = {
  name: 'payments end',
  help:
    'ends a signed payment with an unknown outcome, on a chain without an RPC server: as paid, once you have ' +
    'seen the transfer, or as unpaid, once the signature has expired without one',
  arguments: ['payment id', 'paid or unpaid', 'reason'],
  async run(container, { operator, arguments: [paymentId, outcome, reason] }) {
    if (!isUuid(paymentId!) || (outcome !== 'paid' && outcome !== 'unpaid'))
      throw new CommandFailure('a payment is named by its id, and its outcome is paid or unpaid');
    const says = { isPaid: outcome === 'paid', reason: reason! };
    const problem = await container
      .get(SettleAuthorization)
      .end(paymentId!, says, { operator, command: 'payments end' });
    if (problem !== null) throw new CommandFailure(problem);
    return `payment ${paymentId} is ${outcome}`;
  },
};
