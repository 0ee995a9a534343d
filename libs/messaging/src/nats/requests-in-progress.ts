import type { ServiceTopology } from '@market/contracts';

/**
 * The interval in milliseconds at which a process announces its requests in progress. It sends an announcement if it
 * has any such requests or has answered one since the last announcement.
 */
export const PROGRESS_INTERVAL_MS = 400;

/**
 * A request that no process has announced for this many intervals (two seconds) is lost. A process whose event loop is
 * busy for a second loses none.
 */
export const LOST_AFTER_INTERVALS = 5;

export const progressSubject = (service: string): string => `sig.${service}.requests-in-progress.v1`;

/** Returns the service that a request's subject names. */
export const serviceOf = (subject: string): string => subject.split('.')[1]!;

/** Returns the services to which requests are sent. */
export const servicesAsked = ({ calls }: Pick<ServiceTopology, 'calls'>): string[] => [
  ...new Set(calls.map(({ subject }) => serviceOf(subject))),
];
