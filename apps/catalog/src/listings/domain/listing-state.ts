export type ListingStatus = 'draft' | 'active' | 'suspended';
export type Suspender = 'owner' | 'operator' | 'system';

export const LISTING_STATES = ['draft', 'active', 'suspended_by_owner', 'suspended_by_operator', 'suspended_by_system'] as const;
export type ListingState = (typeof LISTING_STATES)[number];

/** `locked`: not the owner's to change. `draft_first`: an owner's own suspension ends in draft. */
export type Denial = { denied: 'locked' | 'draft_first' };

/** Where each action leads from one state. The first four are the owner's, the gateway reports the other two. */
export interface Moves {
  edit: ListingState | Denial;
  set_draft: ListingState | Denial;
  set_active: ListingState | Denial;
  delete: ListingState | 'removed';
  endpoint_gave_up: ListingState;
  endpoint_recovered: ListingState;
}

const locked: Denial = { denied: 'locked' };
const draftFirst: Denial = { denied: 'draft_first' };

/** Every move between the states of a listing. What its owner withdrew, no recovery brings back. */
export const TRANSITIONS: Record<ListingState, Moves> = {
  draft: {
    edit: 'draft',
    set_draft: 'draft',
    set_active: 'active',
    delete: 'removed',
    endpoint_gave_up: 'draft',
    endpoint_recovered: 'draft',
  },
  active: {
    edit: 'active',
    set_draft: 'draft',
    set_active: 'active',
    delete: 'suspended_by_owner',
    endpoint_gave_up: 'suspended_by_system',
    endpoint_recovered: 'active',
  },
  suspended_by_owner: {
    edit: 'suspended_by_owner',
    set_draft: 'draft',
    set_active: draftFirst,
    delete: 'suspended_by_owner',
    endpoint_gave_up: 'suspended_by_owner',
    endpoint_recovered: 'suspended_by_owner',
  },
  suspended_by_operator: {
    edit: locked,
    set_draft: locked,
    set_active: locked,
    delete: 'suspended_by_operator',
    endpoint_gave_up: 'suspended_by_operator',
    endpoint_recovered: 'suspended_by_operator',
  },
  suspended_by_system: {
    edit: locked,
    set_draft: locked,
    set_active: locked,
    delete: 'suspended_by_owner',
    endpoint_gave_up: 'suspended_by_system',
    endpoint_recovered: 'active',
  },
};

export interface StateColumns {
  status: ListingStatus;
  suspendedBy: Suspender | null;
}

export const stateOf = ({ status, suspendedBy }: StateColumns): ListingState => (status === 'suspended' ? `suspended_by_${suspendedBy!}` : status);

export function columnsOf(state: ListingState): StateColumns {
  if (state === 'draft' || state === 'active') return { status: state, suspendedBy: null };
  return { status: 'suspended', suspendedBy: state.slice('suspended_by_'.length) as Suspender };
}
