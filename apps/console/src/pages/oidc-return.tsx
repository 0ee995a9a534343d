import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { signInByOidc } from '../api/session.js';
import { useTitle } from '../lib/use-title.js';
import { Failure } from '../parts/states.js';

/** Where the OpenID provider sends the browser back. */
export default function OidcReturn() {
  useTitle('Sign in');
  const queries = useQueryClient();
  const [, go] = useLocation();
  const { mutate, error } = useMutation({
    mutationFn: () => signInByOidc(queries, new URLSearchParams(window.location.search)),
    onSuccess: () => go('/mine', { replace: true }),
  });
  // The code can be used once.
  const isBegun = useRef(false);
  useEffect(() => {
    if (isBegun.current) return;
    isBegun.current = true;
    mutate();
  }, [mutate]);
  return (
    <div className="narrow-page stack">
      <h1>Sign in</h1>
      {error ? (
        <>
          <Failure error={error} />
          <p>
            <Link href="/sign-in">Back to sign in</Link>
          </p>
        </>
      ) : (
        <p role="status">Signing in…</p>
      )}
    </div>
  );
}
