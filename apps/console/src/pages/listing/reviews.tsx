import type { ListingDetail } from '@market/sdk';
import { useReviews } from '../../api/public-queries.js';
import { count } from '../../lib/format.js';
import { useFilters } from '../../lib/search-params.js';
import { Pager } from '../../parts/pager.js';
import { Empty, Loaded } from '../../parts/states.js';
import { Time } from '../../parts/values.js';

export function Reviews({ listing: { id, rating } }: { listing: ListingDetail }) {
  const [get, set] = useFilters();
  const reviews = useReviews(id, Number(get('page') || 1));
  return (
    <section aria-labelledby="reviews">
      <h2 id="reviews">Reviews</h2>
      {rating && (
        <p className="muted">
          {rating.average.toFixed(1)} of 5 by {count(rating.count)} {rating.count === 1 ? 'buyer' : 'buyers'}: accuracy{' '}
          {rating.accuracy.toFixed(1)}, reliability {rating.reliability.toFixed(1)}, value {rating.value.toFixed(1)}.
          Only who bought may review.
        </p>
      )}
      <Loaded query={reviews} lines={3}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <Empty title="No reviews yet" />
          ) : (
            <>
              <ul className="plain">
                {data.map((review) => (
                  <li key={review.id} className="review">
                    <h3>{review.title ?? 'Without a title'}</h3>
                    <p className="muted small">
                      {review.reviewer.display_name} · <Time at={review.created_at} /> · accuracy{' '}
                      {review.accuracy_rating}, reliability {review.reliability_rating}, value {review.value_rating} of
                      5
                    </p>
                    {review.comment && <p className="prose">{review.comment}</p>}
                  </li>
                ))}
              </ul>
              <Pager
                pages={pagination}
                of={['review', 'reviews']}
                go={(page) => set({ page: String(page) }, { keepPage: true })}
              />
            </>
          )
        }
      </Loaded>
    </section>
  );
}
