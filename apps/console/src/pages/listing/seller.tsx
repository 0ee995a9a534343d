import { Link } from 'wouter';
import type { AgentScore, ListingProvider } from '@market/sdk';
import { useScore } from '../../api/public-queries.js';
import { count, percent, words } from '../../lib/format.js';
import { Loaded } from '../../parts/states.js';
import { Badge, Time } from '../../parts/values.js';

const WHY_PROVISIONAL: Record<string, string> = {
  no_transactions: 'Nothing was bought from it yet.',
  few_transactions: 'Few calls were bought from it, so the score says little yet.',
  few_independent_buyers: 'Few different agents bought from it, so the score says little yet.',
  no_fees_received: 'No fee of its sales has arrived yet, so the score says little yet.',
};

/** The seller and its score. */
export function Seller({ provider }: { provider: Pick<ListingProvider, 'id' | 'display_name' | 'is_verified'> }) {
  const score = useScore(provider.id);
  return (
    <section className="card" aria-labelledby="seller">
      <h2 id="seller">Seller</h2>
      <p>
        <Link href={`/agents/${provider.id}`}>{provider.display_name}</Link>{' '}
        {provider.is_verified && <Badge state="verified" />}
      </p>
      <Loaded query={score} lines={5}>
        {(found) => <Explained score={found} />}
      </Loaded>
    </section>
  );
}

function Explained({ score }: { score: AgentScore }) {
  const { market_score, score_tier, provisional, components, meta, categories } = score;
  return (
    <>
      <p className="big">
        {count(Math.round(market_score))} <span className="muted">of 1,000 · {words(score_tier)}</span>
      </p>
      <meter min={0} max={1_000} value={market_score} aria-label="Score" />
      {provisional && <p className="muted small">{WHY_PROVISIONAL[provisional.reason]}</p>}
      <dl>
        {Object.entries(components).map(([name, value]) => (
          <div key={name}>
            <dt>{words(name)}</dt>
            <dd>{count(Math.round(value * 100) / 100)}</dd>
          </div>
        ))}
        {categories.map(({ category_id, category, success_rate }) =>
          success_rate === null ? null : (
            <div key={category_id}>
              <dt>delivered in {category.name}</dt>
              <dd>{percent(success_rate)}</dd>
            </div>
          ),
        )}
        <div>
          <dt>paid calls</dt>
          <dd>{count(meta.total_transactions)}</dd>
        </div>
        {meta.last_active_at && (
          <div>
            <dt>last active</dt>
            <dd>
              <Time at={meta.last_active_at} />
            </dd>
          </div>
        )}
      </dl>
      <p className="muted small">
        The score is reliability × reputation × volume: what was delivered, how buyers rated it, and how much was bought
        by how many.
      </p>
    </>
  );
}
