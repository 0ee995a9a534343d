import { CommandFailure, type CommandDefinition } from '@market/runtime';
import { ReconcileSettlements, type Reconciled } from './reconcile-settlements.js';

const FIRST = '00000000-0000-0000-0000-000000000000';

/** `market-admin books reconcile`. It can run while the services run. */
export const reconcileBooks: CommandDefinition = {
  name: 'books reconcile',
  help:
    'asks chains and Relay about every settlement and prints those that they contradict or do not confirm; ends ' +
    'with 1 if there are any',
  async run(container) {
    const settlements = container.get(ReconcileSettlements);
    const lines: string[] = [];
    const counts = { explained: 0, unexplained: 0, unknown: 0 };
    for (let after = FIRST; ;) {
      const page = await settlements.page(after);
      for (const reconciled of page) {
        counts[reconciled.outcome] += 1;
        if (reconciled.outcome !== 'explained') lines.push(toLine(reconciled));
      }
      if (page.length === 0) break;
      after = page.at(-1)!.payment.id;
    }
    const text = [
      ...lines,
      `${counts.explained} settlements explained, ${counts.unexplained} unexplained, ${counts.unknown} unknown`,
    ].join('\n');
    if (lines.length > 0) throw new CommandFailure(text);
    return text;
  },
};

const toLine = ({ payment: { id, rail, network, state }, outcome, why }: Reconciled): string =>
  [outcome, id, rail, network, state, why].join('\t');
