import { z } from 'zod';
import { defineRequest } from './define.js';
import { id, timestamp } from './shared/index.js';

/** The events of a service that wait or cannot be handled. */
export const eventQueues = z.object({
  unpublished: z.number().int().describe('In its outbox.'),
  oldest_unpublished_seconds: z.number(),
  parked: z.number().int().describe('Tried again after a failure.'),
  dead_letters: z.number().int().describe('Could not be handled.'),
});

export const operatorAction = z.object({
  id,
  at: timestamp,
  operator: z.string().describe('The account of the operator, or the name given on the command line.'),
  command: z.string(),
  subject: z.string().describe('The id of what it is about, or what was searched for.'),
  reason: z.string().nullable(),
});

/** What operators ask of every service that has a database. The runtime answers for all of them. */
export const operationsOf = (service: string) => ({
  getQueues: defineRequest({
    subject: `rpc.${service}.get-queues.v1`,
    repeatable: true,
    input: z.object({}),
    output: eventQueues,
    refusals: {},
  }),
  /** Newest first; `before` is the id of the last one seen. `total` counts all of them. */
  listOperatorActions: defineRequest({
    subject: `rpc.${service}.list-operator-actions.v1`,
    repeatable: true,
    input: z.object({ before: id.optional(), limit: z.number().int().min(1).max(10_001) }),
    output: z.object({ actions: z.array(operatorAction), total: z.number().int() }),
    refusals: {},
  }),
});
