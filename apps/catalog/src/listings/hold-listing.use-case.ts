import { newRequestContext } from '@market/messaging';
import { Database, recordOperatorAction } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { stateOf, type ListingState } from './listing-state.js';
import { ListingsRepository } from './listings.repository.js';
import { ListingChanges } from './listing-changes.js';

interface HoldRequest {
  /** A uuid or a slug, current or former. */
  ref: string;
  operator: string;
  reason: string | null;
}

interface Moved {
  id: string;
  name: string;
  from: ListingState;
  to: ListingState;
}

/**
 * Holds a listing, or releases it to its former state, for an operator. The change is published like any other, and
 * recorded with its reason in the same transaction.
 */
@Injectable()
export class HoldListing {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
  ) {}

  /** @returns null if there is no such listing. If nothing changed, `from` equals `to` and nothing is recorded. */
  execute(action: 'hold' | 'release', { ref, operator, reason }: HoldRequest): Promise<Moved | null> {
    const command = action === 'hold' ? 'listing suspend' : 'listing release';
    return this.database.transaction(async (tx) => {
      const id = await this.listings.resolve(tx, ref);
      const moved = id && (await this.changes.react(tx, id, action, newRequestContext()));
      if (!moved) return null;
      const { before, state: to } = moved;
      const from = stateOf(before);
      if (from !== to) await recordOperatorAction(tx, { operator, command, subject: before.id, reason });
      return { id: before.id, name: before.name, from, to };
    });
  }
}
