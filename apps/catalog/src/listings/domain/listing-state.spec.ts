import fc from 'fast-check';
import { columnsOf, LISTING_STATES, stateOf, TRANSITIONS, type ListingState, type Moves } from './listing-state.js';

const OWNER: (keyof Moves)[] = ['edit', 'set_draft', 'set_active', 'delete'];
const ALL: (keyof Moves)[] = [...OWNER, 'endpoint_gave_up', 'endpoint_recovered'];

/** Every state after each action; a denied action stays where it was, and nothing follows a removal. */
function walk(from: ListingState, actions: (keyof Moves)[]): (ListingState | 'removed')[] {
  const path: (ListingState | 'removed')[] = [];
  let state = from;
  for (const action of actions) {
    const outcome = TRANSITIONS[state][action];
    if (outcome === 'removed') return [...path, outcome];
    if (typeof outcome === 'string') state = outcome;
    path.push(state);
  }
  return path;
}

/** The same rules said another way: a status, and who holds the listing back. */
class Model {
  constructor(
    private status: 'draft' | 'active' | 'suspended' | 'removed',
    private holder: 'owner' | 'operator' | 'system' | null,
  ) {}

  static of(state: ListingState): Model {
    const { status, suspendedBy } = columnsOf(state);
    return new Model(status, suspendedBy);
  }

  do(action: keyof Moves): ListingState | 'removed' {
    if (this.status === 'suspended') this.whileHeld(action);
    else if (action === 'delete') this.set(this.status === 'draft' ? 'removed' : 'suspended', this.status === 'draft' ? null : 'owner');
    else if (action === 'set_draft') this.set('draft', null);
    else if (action === 'set_active') this.set('active', null);
    else if (action === 'endpoint_gave_up' && this.status === 'active') this.set('suspended', 'system');
    return this.status === 'removed' ? 'removed' : stateOf({ status: this.status, suspendedBy: this.holder });
  }

  private whileHeld(action: keyof Moves): void {
    if (this.holder === 'owner' && action === 'set_draft') this.set('draft', null);
    if (this.holder === 'system' && action === 'delete') this.set('suspended', 'owner');
    if (this.holder === 'system' && action === 'endpoint_recovered') this.set('active', null);
  }

  private set(status: typeof this.status, holder: typeof this.holder): void {
    this.status = status;
    this.holder = holder;
  }
}

const state = fc.constantFrom(...LISTING_STATES);
const actions = (from: (keyof Moves)[]) => fc.array(fc.constantFrom(...from), { minLength: 1, maxLength: 30 });

describe('the states of a listing', () => {
  it('follow the model through any sequence of actions', () => {
    fc.assert(
      fc.property(state, actions(ALL), (from, sequence) => {
        const model = Model.of(from);
        const expected: string[] = [];
        for (const action of sequence) {
          expected.push(model.do(action));
          if (expected.at(-1) === 'removed') break;
        }
        expect(walk(from, sequence)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('give an owner no way out of an operator’s suspension', () => {
    fc.assert(fc.property(actions(OWNER), (sequence) => expect(new Set(walk('suspended_by_operator', sequence))).toEqual(new Set(['suspended_by_operator']))));
  });

  it('never make active what its owner suspended, unless it was a draft again', () => {
    fc.assert(
      fc.property(actions(ALL), (sequence) => {
        const path = walk('suspended_by_owner', sequence);
        const active = path.indexOf('active');
        if (active >= 0) expect(path.slice(0, active)).toContain('draft');
      }),
    );
  });

  it('remove nothing but drafts', () => {
    for (const from of LISTING_STATES) expect(TRANSITIONS[from].delete === 'removed').toBe(from === 'draft');
  });

  it('are two columns and back', () => {
    for (const each of LISTING_STATES) expect(stateOf(columnsOf(each))).toBe(each);
  });
});
