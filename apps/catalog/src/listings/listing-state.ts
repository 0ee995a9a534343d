type ListingStatus = 'draft' | 'active' | 'suspended';
type Suspender = 'owner' | 'operator' | 'system';

/** The state that a listing returns to when an operator releases it. */
type HeldAs = 'draft' | 'active' | 'withdrawn';

export const LISTING_STATES = [
  'draft',
  'active',
  'suspended_by_owner',
  'suspended_by_system',
  'held_as_draft',
  'held_as_active',
  'held_as_withdrawn',
] as const;
/** In the states `held_as_…` an operator has suspended the listing. */
export type ListingState = (typeof LISTING_STATES)[number];

/**
 * `locked`: the owner may not change the listing. `draft_first`: the owner must make its suspended listing a draft
 * before it can be active.
 */
type Denial = { denied: 'locked' | 'draft_first' };

/**
 * The next state for each action. The owner performs the first four actions and an operator the next two. The system
 * performs the last two: it suspends and resumes a listing because of its endpoint, or because of its seller's fees or
 * suspension.
 */
export interface Moves {
  edit: ListingState | Denial;
  set_draft: ListingState | Denial;
  set_active: ListingState | Denial;
  delete: ListingState | 'removed';
  hold: ListingState;
  release: ListingState;
  suspend: ListingState;
  resume: ListingState;
}

const locked: Denial = { denied: 'locked' };
const draftFirst: Denial = { denied: 'draft_first' };

const held = (state: ListingState, release: ListingState): Moves => ({
  edit: locked,
  set_draft: locked,
  set_active: locked,
  delete: state,
  hold: state,
  release,
  suspend: state,
  resume: state,
});

/**
 * All transitions between the states of a listing. A listing that its owner withdrew stays withdrawn when its endpoint
 * recovers or an operator releases it.
 */
export const TRANSITIONS: Record<ListingState, Moves> = {
  draft: {
    edit: 'draft',
    set_draft: 'draft',
    set_active: 'active',
    delete: 'removed',
    hold: 'held_as_draft',
    release: 'draft',
    suspend: 'draft',
    resume: 'draft',
  },
  active: {
    edit: 'active',
    set_draft: 'draft',
    set_active: 'active',
    delete: 'suspended_by_owner',
    hold: 'held_as_active',
    release: 'active',
    suspend: 'suspended_by_system',
    resume: 'active',
  },
  suspended_by_owner: {
    edit: 'suspended_by_owner',
    set_draft: 'draft',
    set_active: draftFirst,
    delete: 'suspended_by_owner',
    hold: 'held_as_withdrawn',
    release: 'suspended_by_owner',
    suspend: 'suspended_by_owner',
    resume: 'suspended_by_owner',
  },
  suspended_by_system: {
    edit: locked,
    set_draft: locked,
    set_active: locked,
    delete: 'suspended_by_owner',
    // After the release, the system checks again whether to suspend the listing.
    hold: 'held_as_active',
    release: 'suspended_by_system',
    suspend: 'suspended_by_system',
    resume: 'active',
  },
  held_as_draft: held('held_as_draft', 'draft'),
  held_as_active: { ...held('held_as_active', 'active'), delete: 'held_as_withdrawn' },
  held_as_withdrawn: held('held_as_withdrawn', 'suspended_by_owner'),
};

export interface StateColumns {
  status: ListingStatus;
  suspended_by: Suspender | null;
  held_as: HeldAs | null;
}

export function stateOf({ status, suspended_by, held_as }: StateColumns): ListingState {
  if (status !== 'suspended') return status;
  return suspended_by === 'operator' ? `held_as_${held_as!}` : `suspended_by_${suspended_by!}`;
}

export function columnsOf(state: ListingState): StateColumns {
  if (state === 'draft' || state === 'active') return { status: state, suspended_by: null, held_as: null };
  if (state === 'suspended_by_owner') return { status: 'suspended', suspended_by: 'owner', held_as: null };
  if (state === 'suspended_by_system') return { status: 'suspended', suspended_by: 'system', held_as: null };
  return { status: 'suspended', suspended_by: 'operator', held_as: state.slice('held_as_'.length) as HeldAs };
}
