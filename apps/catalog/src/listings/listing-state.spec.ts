import fc from 'fast-check';
import { columnsOf, LISTING_STATES, stateOf, TRANSITIONS, type ListingState, type Moves } from './listing-state.js';

const OWNER: (keyof Moves)[] = ['edit', 'set_draft', 'set_active', 'delete'];
const OTHERS: (keyof Moves)[] = ['hold', 'release', 'suspend', 'resume'];
const ALL: (keyof Moves)[] = [...OWNER, ...OTHERS];
const HELD = LISTING_STATES.filter((each) => each.startsWith('held_as_'));

/**
 * Returns the state after each action. A denied action does not change the state, and the walk ends after a removal.
 */
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

/**
 * A second implementation of the rules, from three values: the owner's offer, whether the system suspended the listing
 * (`gaveUp`), and whether an operator holds it.
 */
class Model {
  private constructor(
    private offer: 'draft' | 'active' | 'withdrawn' | 'removed',
    private gaveUp: boolean,
    private isHeld: boolean,
  ) {}

  static of(state: ListingState): Model {
    if (state.startsWith('held_as_')) return new Model(state.slice('held_as_'.length) as 'draft', false, true);
    if (state === 'suspended_by_owner') return new Model('withdrawn', false, false);
    return new Model(state === 'draft' ? 'draft' : 'active', state === 'suspended_by_system', false);
  }

  do(action: keyof Moves): ListingState | 'removed' {
    if (action === 'hold') this.hold();
    else if (action === 'release') this.isHeld = false;
    else if (action === 'delete') this.withdraw();
    else if (!this.isHeld) this.whileFree(action);
    return this.state();
  }

  private hold(): void {
    this.isHeld = true;
    this.gaveUp = false;
  }

  private withdraw(): void {
    if (this.offer === 'draft') this.offer = this.isHeld ? 'draft' : 'removed';
    else this.offer = 'withdrawn';
    this.gaveUp = false;
  }

  private whileFree(action: keyof Moves): void {
    if (action === 'set_draft' && !this.gaveUp) this.offer = 'draft';
    if (action === 'set_active' && this.offer === 'draft') this.offer = 'active';
    if (action === 'suspend') this.gaveUp = this.offer === 'active';
    if (action === 'resume') this.gaveUp = false;
  }

  private state(): ListingState | 'removed' {
    if (this.offer === 'removed') return 'removed';
    if (this.isHeld) return `held_as_${this.offer}`;
    if (this.gaveUp) return 'suspended_by_system';
    return this.offer === 'withdrawn' ? 'suspended_by_owner' : this.offer;
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

  it('give nobody but an operator a way out of what an operator holds', () => {
    fc.assert(
      fc.property(fc.constantFrom(...HELD), actions(ALL.filter((action) => action !== 'release')), (from, sequence) => {
        for (const each of walk(from, sequence)) expect(HELD).toContain(each);
      }),
    );
  });

  it('are given back by a release as they were', () => {
    for (const from of ['draft', 'active', 'suspended_by_owner'] as const)
      expect(walk(from, ['hold', 'release']).at(-1)).toBe(from);
    expect(walk('active', ['hold', 'delete', 'release']).at(-1)).toBe('suspended_by_owner');
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
