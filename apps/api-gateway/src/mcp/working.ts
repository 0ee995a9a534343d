import type { ProgressNotificationParams, ServerContext } from '@modelcontextprotocol/server';
import type { InterfaceAnswer } from './callers-interface.js';

/** The maximum time to wait for the answer of a call. */
export const WAIT_MS = 20_000;

/** The `data` of a 202: the call is a job that its seller works on. */
export interface Working {
  request_id: string;
  relay_request_id: string | null;
  status: 'working';
  percent?: number;
  message?: string;
  retry_after_seconds: number;
  deadline: string;
}

export function workingOf({ status, json }: InterfaceAnswer): Working | undefined {
  const data = status === 202 && json.success ? (json.data as Working) : undefined;
  return data?.status === 'working' ? data : undefined;
}

/** Tells the client of a tool how far a job is. */
export type Tell = (job: Working) => Promise<void>;

/** Notifies a client that has asked for it. The protocol wants each number above the one before. */
export function progressTo({ mcpReq }: ServerContext): Tell {
  const { progressToken } = mcpReq._meta ?? {};
  let told = -1;
  return async ({ percent, message }) => {
    const progress = percent ?? 0;
    if (progressToken === undefined || progress <= told) return;
    told = progress;
    const params: ProgressNotificationParams = { progressToken, progress, total: 100, ...(message && { message }) };
    await mcpReq.notify({ method: 'notifications/progress', params: { ...params } });
  };
}
