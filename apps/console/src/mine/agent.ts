import { createContext, useContext } from 'react';

export interface OwnedAgent {
  agent_id: string;
  display_name: string;
  claimed_at: string;
}

/** The selected agent. */
export const AgentContext = createContext<OwnedAgent | undefined>(undefined);

export function useAgent(): OwnedAgent {
  const agent = useContext(AgentContext);
  if (!agent) throw new Error('This page shows an agent and was given none.');
  return agent;
}

/** Returns a link within the agent's pages that shows the same agent to everyone who opens it. */
export const useAgentLink = (): ((path: string) => string) => {
  const { agent_id: id } = useAgent();
  return (path) => `${path}?agent=${id}`;
};
