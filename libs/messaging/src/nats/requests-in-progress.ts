import type { ServiceTopology } from '@market/contracts';

/** Milliseconds between two messages in which a process names all requests that it is working on; it sends one where it works on any or has answered any since the last. */
export const PROGRESS_INTERVAL_MS = 400;

/** A request that no process has named for this many intervals (two seconds) is lost. A process whose event loop is busy for a second loses none. */
export const LOST_AFTER_INTERVALS = 5;

export const progressSubject = (service: string): string => `sig.${service}.requests-in-progress.v1`;

/** The service that a request's subject names. */
export const serviceOf = (subject: string): string => subject.split('.')[1]!;

/** The services to which requests are sent. */
export const servicesAsked = ({ calls }: Pick<ServiceTopology, 'calls'>): string[] => [
  ...new Set(calls.map(({ subject }) => serviceOf(subject))),
];
