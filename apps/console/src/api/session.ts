import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import type { WalletProof } from '@market/sdk';
import { api, ApiError, bodyOf } from './client.js';

/**
 * Stores that this browser has a session. Scripts cannot see its cookie, and visitors without one need not request
 * their profile.
 */
const SIGNED_IN = 'market.signed-in';

/** The signed-in human with its agents; null if nobody is signed in. */
export const useMe = () =>
  useQuery({
    queryKey: ['me'],
    queryFn: async ({ signal }) => {
      if (localStorage.getItem(SIGNED_IN) === null) return null;
      try {
        return (await api.GET('/api/v1/me', { signal }).then(bodyOf)).data;
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 401)) throw error;
        localStorage.removeItem(SIGNED_IN);
        return null;
      }
    },
    staleTime: 60_000,
  });

export async function signIn(queries: QueryClient, proof: WalletProof): Promise<void> {
  await api.POST('/api/v1/auth/session', { body: proof });
  localStorage.setItem(SIGNED_IN, 'yes');
  await queries.resetQueries({ queryKey: ['me'] });
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    // A session that has already ended needs no further action.
    await api.DELETE('/api/v1/auth/session').catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
    });
    localStorage.removeItem(SIGNED_IN);
    queries.removeQueries({ queryKey: ['agent'] });
    queries.removeQueries({ queryKey: ['operator'] });
    await queries.resetQueries({ queryKey: ['me'] });
  };
}
