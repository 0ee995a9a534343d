import { createContext, useContext } from 'react';

export interface OwnedAgent {
  agent_id: string;
  display_name: string;
  claimed_at: string;
}

/** The agent whose books are open. */
export const AgentContext = createContext<OwnedAgent | undefined>(undefined);

export function useAgent(): OwnedAgent {
  const agent = useContext(AgentContext);
  if (!agent) throw new Error('This page shows an agent and was given none.');
  return agent;
}

/** An address within the agent's pages that shows the same agent to whoever opens it. */
export const useAgentLink = (): ((path: string) => string) => {
  const { agent_id: id } = useAgent();
  return (path) => `${path}?agent=${id}`;
};
