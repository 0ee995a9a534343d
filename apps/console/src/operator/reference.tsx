import { Link } from 'wouter';
import { Hash } from '../parts/values.js';

type Kind = 'agents' | 'listings' | 'payments' | 'calls';

/** An id as a link to its object; a dash if there is none. */
export const Reference = ({ to, id }: { to: Kind; id: string | null }) =>
  id === null ? (
    <>–</>
  ) : (
    <Link href={`/operator/${to}/${id}`}>
      <Hash of={id} />
    </Link>
  );
