import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type Server,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Caller } from './caller.js';
import type { InterfaceAnswer } from './callers-interface.js';
import { findRequest, jobOf, outcomeOf, type Row } from './get-request.js';
import { workingOf, type Working } from './working.js';

/** The name of the extension, whose source is specification/draft/tasks.md of github.com/modelcontextprotocol/ext-tasks. */
const TASKS = 'io.modelcontextprotocol/tasks';
const capability = { extensions: { [TASKS]: {} } };
/** The answer of a job is kept for so long behind its deadline, if nothing was paid for it; any other longer. */
const KEPT_MS = 86_400_000;

const params = z.looseObject({ taskId: z.uuid() });

/** Whether the client of this request takes a task for the answer of a tool. */
export const takesTasks = (server: Server): boolean =>
  server.getClientCapabilities()?.extensions?.[TASKS] !== undefined;

/** Serves the jobs of the caller as tasks: a task is a call that its seller works on, and has the same id. */
export function serveTasks(server: Server, caller: Caller): void {
  const { api } = caller;
  server.registerCapabilities(capability);
  const serve = (method: string, answer: (taskId: string) => Promise<object>): void =>
    server.setRequestHandler(method, { params }, async ({ taskId }) => {
      if (!takesTasks(server)) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: capability });
      return { ...(await answer(taskId)) };
    });
  serve('tasks/get', async (taskId) => taskOf(caller, rowOf(await findRequest(api, taskId))));
  serve('tasks/cancel', async (taskId) => {
    const answer = await api.send('DELETE', `/api/v1/gateway-requests/${taskId}`);
    // What has ended cannot be cancelled, and its client learns how it ended when it asks again.
    if (answer.status !== 409) rowOf(answer);
    return {};
  });
  // No job asks its buyer for anything.
  serve('tasks/update', async (taskId) => {
    rowOf(await findRequest(api, taskId));
    return {};
  });
}

/** The answer of a tool as a task, if it is that of a job whose caller may ask for it again. */
export async function asTask(caller: Caller, answer: InterfaceAnswer, result: CallToolResult): Promise<CallToolResult> {
  const working = workingOf(answer);
  if (!working) return result;
  const { json } = await findRequest(caller.api, working.request_id);
  const row = json.success ? (json.data as Row) : undefined;
  const job = row && jobOf(row);
  return job ? { ...result, resultType: 'task', ...stateOf(row, job) } : result;
}

async function taskOf(caller: Caller, row: Row): Promise<object> {
  const job = jobOf(row);
  if (job) return stateOf(row, job);
  return { ...taskFactsOf(row), status: 'completed', result: await outcomeOf(caller, row) };
}

const stateOf = (row: Row, { message, retry_after_seconds }: Working): object => ({
  ...taskFactsOf(row),
  status: 'working',
  ...(message && { statusMessage: message }),
  pollIntervalMs: retry_after_seconds * 1_000,
});

const taskFactsOf = ({ request_id, created_at, deadline, progress, completed_at }: Row): object => ({
  taskId: request_id,
  createdAt: created_at,
  lastUpdatedAt: completed_at ?? progress?.at ?? created_at,
  ttlMs: Date.parse(deadline ?? created_at) - Date.parse(created_at) + KEPT_MS,
});

/** @throws ProtocolError unless the caller may see the call. */
function rowOf({ status, json }: InterfaceAnswer): Row {
  if (json.success) return json.data as Row;
  const code = status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  throw new ProtocolError(code, json.error.message, { error: json.error });
}
