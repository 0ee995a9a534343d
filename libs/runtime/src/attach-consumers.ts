import { topology, type EventContract, type ServiceName, type SignalContract } from '@market/contracts';
import { eventHandlersOf, signalHandlersOf, type Link } from '@market/messaging';
import { EventConsumer, retryParked, type Database, type EventHandler } from '@market/persistence';
import type { INestApplicationContext } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Jobs } from './jobs.js';

const RETRY_INTERVAL_MS = 1_000;

type SignalHandler = (payload: unknown) => void;

/**
 * Finds the `@HandleEvent` and `@HandleSignal` methods of a container and subscribes them. Throws if they differ from
 * the topology.
 */
export async function attachConsumers(
  app: INestApplicationContext,
  service: ServiceName,
  link: Link,
  database: Database | undefined,
  jobs: Jobs,
): Promise<void> {
  const consumers: EventConsumer[] = [];
  const consumed: EventContract[] = [];
  const subscribed: SignalContract[] = [];
  for (const instance of instancesOf(app)) {
    const methods = instance as Record<string | symbol, unknown>;
    for (const { contract, method } of eventHandlersOf(instance)) {
      if (!database) throw new Error(`${service} consumes ${contract.subject} but has no database for an inbox`);
      const consumer = new EventConsumer(database, contract, (methods[method] as EventHandler).bind(instance));
      await link.consumeEvents(contract.subject, (events) => consumer.deliver(events));
      consumers.push(consumer);
      consumed.push(contract);
    }
    for (const { contract, method } of signalHandlersOf(instance)) {
      await link.onSignal(contract.subject, (payload) => (methods[method] as SignalHandler).call(instance, payload));
      subscribed.push(contract);
    }
  }
  if (database && consumers.length > 0)
    jobs.every('retry-events', RETRY_INTERVAL_MS, () => retryParked(database, consumers));
  assertSame(service, 'consumes', topology[service].consumes, consumed);
  assertSame(service, 'subscribes', topology[service].subscribes, subscribed);
}

/** All instances of a container, whose methods may handle messages. */
export function instancesOf(app: INestApplicationContext): Set<object> {
  const discovery = app.get(DiscoveryService);
  return new Set(
    [...discovery.getProviders(), ...discovery.getControllers()]
      .map((wrapper) => wrapper.instance as unknown)
      .filter((instance): instance is object => typeof instance === 'object' && instance !== null),
  );
}

function assertSame(
  service: ServiceName,
  verb: string,
  declared: readonly { subject: string }[],
  found: { subject: string }[],
): void {
  const subjects = (contracts: readonly { subject: string }[]): string =>
    [...new Set(contracts.map((contract) => contract.subject))].sort().join(', ') || 'nothing';
  if (subjects(declared) !== subjects(found))
    throw new Error(`${service} ${verb} ${subjects(found)}, its topology says ${subjects(declared)}`);
}
