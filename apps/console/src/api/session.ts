import { useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import type { WalletProof } from '@market/sdk';
import { api, ApiError, bodyOf } from './client.js';

/**
 * Stores that this browser has a session. Scripts cannot see its cookie, and visitors without one need not request
 * their profile.
 */
const SIGNED_IN = 'market.signed-in';

/**
 * The signed-in human with its agents; null if nobody is signed in.
 * @param refetchInterval for pages that wait for a change that is made elsewhere.
 */
export const useMe = (refetchInterval?: number) =>
  useQuery({
    refetchInterval,
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

/** @param link whether the wallet becomes one more sign-in of the human who is signed in. */
export async function signIn(queries: QueryClient, proof: WalletProof, link: boolean): Promise<void> {
  await api.POST('/api/v1/auth/session', { body: { ...proof, link } });
  await signedIn(queries);
}

async function signedIn(queries: QueryClient): Promise<void> {
  localStorage.setItem(SIGNED_IN, 'yes');
  await queries.resetQueries({ queryKey: ['me'] });
}

/** What this tab keeps while its human is at the OpenID provider. */
const OIDC_SIGN_IN = 'market.oidc-sign-in';

/** Leaves the console for the OpenID provider. */
export async function goToOidcProvider(): Promise<void> {
  const { data } = await api.POST('/api/v1/auth/oidc').then(bodyOf);
  sessionStorage.setItem(OIDC_SIGN_IN, JSON.stringify({ state: data.state, sign_in: data.sign_in }));
  window.location.assign(data.authorization_url);
}

/** @param answer the parameters with which the provider sent the browser back. */
export async function signInByOidc(queries: QueryClient, answer: URLSearchParams): Promise<void> {
  const kept = JSON.parse(sessionStorage.getItem(OIDC_SIGN_IN) ?? '{}') as { state?: string; sign_in?: string };
  sessionStorage.removeItem(OIDC_SIGN_IN);
  const [code, state, iss] = ['code', 'state', 'iss'].map((name) => answer.get(name));
  if (!kept.sign_in || kept.state !== state) throw new Error('This sign-in was not begun in this tab. Begin again.');
  if (!code || !state) throw new Error(answer.get('error_description') ?? 'The provider did not confirm who you are.');
  await api.POST('/api/v1/auth/oidc/session', {
    body: { sign_in: kept.sign_in, code, state, ...(iss ? { iss } : {}) },
  });
  await signedIn(queries);
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
