import type { EventContract, PayloadOf, SignalContract } from '@market/contracts';
import { read, register, type HandlerRegistration } from './registrations.js';

const EVENT_HANDLERS = Symbol('event handlers');
const SIGNAL_HANDLERS = Symbol('signal handlers');

/** An event as a handler receives it: parsed, and not received before by this consumer. */
export interface ReceivedEvent<C extends EventContract> {
  id: string;
  requestId: string;
  payload: PayloadOf<C>;
}

/**
 * Consumes an event contract with `(events, tx) => Promise<void>`: a batch of events that are new to this consumer, in
 * the transaction that also records their ids. If the handler throws, the events are retried. An event that keeps
 * failing is stored in the dead letters.
 */
export function HandleEvent<C extends EventContract>(contract: C) {
  return <M extends (events: ReceivedEvent<C>[], tx: never) => Promise<void>>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    register(target, EVENT_HANDLERS, { contract, method });
  };
}

/** Handles a signal, which is delivered at most once and is used for cache invalidation and heartbeats. */
export function HandleSignal<C extends SignalContract>(contract: C) {
  return <M extends (payload: PayloadOf<C>) => void>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    register(target, SIGNAL_HANDLERS, { contract, method });
  };
}

export const eventHandlersOf = (instance: object): HandlerRegistration<EventContract>[] =>
  read(instance, EVENT_HANDLERS);
export const signalHandlersOf = (instance: object): HandlerRegistration<SignalContract>[] =>
  read(instance, SIGNAL_HANDLERS);
