import type { InputOf, OutputOf } from '@market/contracts';
import { holdListing } from '@market/contracts/catalog';
import { HandleRequest, newRequestContext, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, recordOperatorAction } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { columnsOf, stateOf } from './listing-state.js';
import { ListingsRepository } from './listings.repository.js';
import { ListingChanges } from './listing-changes.js';

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

  /** If nothing changes, nothing is recorded. */
  @HandleRequest(holdListing)
  execute(
    { ref, action, reason }: InputOf<typeof holdListing>,
    context: RequestContext,
  ): Promise<OutputOf<typeof holdListing>> {
    const operator = operatorOf(context);
    const command = action === 'hold' ? 'listing suspend' : 'listing release';
    return this.database.transaction(async (tx) => {
      const found = await this.listings.resolve(tx, ref);
      const moved = found && (await this.changes.react(tx, found, action, newRequestContext()));
      if (!moved) throw refuse(holdListing, 'listing_not_found', {});
      const { before, state } = moved;
      const { id, name } = before;
      const changed = stateOf(before) !== state;
      if (changed) await recordOperatorAction(tx, { operator, command, subject: id, reason });
      const { status, suspended_by } = columnsOf(state);
      return { id, name, status, suspended_by, changed };
    });
  }
}
