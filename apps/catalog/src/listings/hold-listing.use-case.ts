import { newRequestContext } from '@market/messaging';
import { Database, recordOperatorAction } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { stateOf, TRANSITIONS, type ListingState } from './domain/listing-state.js';
import { ListingsRepository } from './infra/listings.repository.js';
import { ListingChanges } from './listing-changes.js';

export interface OperatorsWord {
  /** A uuid or a slug, current or former. */
  ref: string;
  operator: string;
  reason: string | null;
}

export interface Moved {
  id: string;
  name: string;
  from: ListingState;
  to: ListingState;
}

/**
 * An operator holds a listing back, or releases it to what it was. Its owner can do neither. Told to the others like
 * every change, and noted with its reason in the same transaction. Queries: a transaction of 5 or 6.
 */
@Injectable()
export class HoldListing {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
  ) {}

  /** @returns null where there is no such listing; `from` is `to` where there was nothing to do, and nothing is noted. */
  execute(
    action: 'hold' | 'release',
    command: string,
    { ref, operator, reason }: OperatorsWord,
  ): Promise<Moved | null> {
    return this.database.transaction(async (tx) => {
      const id = await this.listings.resolve(tx, ref);
      const before = id && (await this.changes.react(tx, id, action, newRequestContext()));
      if (!before) return null;
      const from = stateOf(before);
      const to = TRANSITIONS[from][action];
      if (from !== to) await recordOperatorAction(tx, { operator, command, subject: before.id, reason });
      return { id: before.id, name: before.name, from, to };
    });
  }
}
