import { TRANSACTION_ID_PATTERN } from '@market/contracts';
import { newRequestContext, Refusal } from '@market/messaging';
import { isUuid } from '@market/kernel';
import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { ConfirmRefund } from './confirm-refund.use-case.js';

/** Confirms refunds that the operator owes, or that it pays in place of a seller. */
export const refundsConfirm: CommandDefinition = {
  name: 'refunds confirm',
  help: 'confirms that a transaction paid a refund, once its chain shows the transfer to the buyer',
  arguments: ['refund id', 'transaction'],
  async run(container, { operator, arguments: [refundId, transaction] }) {
    if (!isUuid(refundId!) || !TRANSACTION_ID_PATTERN.test(transaction!))
      throw new CommandFailure(
        'a refund is named by its id, and a transaction by its hash, or its signature on Solana',
      );
    try {
      await container
        .get(ConfirmRefund)
        .byOperator(refundId!, transaction!, { operator, command: 'refunds confirm' }, newRequestContext());
      return `refund ${refundId} is paid by ${transaction}`;
    } catch (error) {
      if (error instanceof Refusal) throw new CommandFailure(`${error.message} (${error.reason})`);
      throw error;
    }
  },
};
