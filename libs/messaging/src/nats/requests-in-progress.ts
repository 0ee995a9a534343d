import type { ServiceTopology } from '@market/contracts';

/** Milliseconds between two messages in which a process names all requests that it is working on, where there are any. */
export const PROGRESS_INTERVAL_MS = 400;

/** A request that no process has named for this many intervals (two seconds) is lost. A process whose event loop is busy for a second loses none. */
export const LOST_AFTER_INTERVALS = 5;

/** The header in which a request carries the id that it is named by. */
export const REQUEST_ID_HEADER = 'Market-Request';

export const progressSubject = (service: string): string => `sig.${service}.requests-in-progress.v1`;

/** The services to which requests are sent. */
export const servicesAsked = ({ calls }: Pick<ServiceTopology, 'calls'>): string[] => [
  ...new Set(calls.map(({ subject }) => subject.split('.')[1]!)),
];
