import type { ServiceName } from '@market/contracts';
import type { DatabaseDefinition } from '@market/persistence';
import type { Type } from '@nestjs/common';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Check } from './define-check.js';
import type { CommandDefinition } from './define-command.js';
import type { ConfigDefinition } from './define-config.js';

/** A public HTTP port. Among our services, only the edge has one. */
export interface HttpDefinition<C> {
  adapter(config: C): FastifyAdapter;
  /** Configures everything that must exist before the first request: hooks, filters, documents. */
  configure(app: NestFastifyApplication, config: C): Promise<void>;
  address(config: C): { host: string; port: number };
}

/** The definition of a service. A process runs a list of services with one transport. */
export interface ServiceDefinition<C = unknown> {
  name: ServiceName;
  module: Type;
  config: ConfigDefinition<C>;
  database?: DatabaseDefinition;
  http?: HttpDefinition<C>;
  /** The dependencies of the service besides its database and the bus, for `market-admin doctor`. */
  checks?(config: C): Check[];
  /** The commands that operators may run from a terminal. */
  commands?: readonly CommandDefinition[];
}

export function defineService<C>(definition: ServiceDefinition<C>): ServiceDefinition<C> {
  return definition;
}
