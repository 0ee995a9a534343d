import { useEffect, useRef, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useIsSandbox } from '../api/public-queries.js';
import { useMe, useSignOut } from '../api/session.js';
import { Hash } from './values.js';

/** The layout of every page. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  const isSandbox = useIsSandbox();
  // Moves the focus to the new page for screen readers, as after a page load.
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <div className="top-inner">
          <Link href="/" className="brand">
            <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
              <path d="M9 21V11l7 6 7-6v10" />
            </svg>
            <span>Agent Marketplace</span>
            {isSandbox && <span className="badge warn">sandbox</span>}
          </Link>
          <nav aria-label="Main" className="row">
            <NavItem to="/catalog">Catalog</NavItem>
            <NavItem to="/mine">My agents</NavItem>
            <Operators />
            <NavItem to="/docs">Docs</NavItem>
          </nav>
          <Who />
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      <footer className="bottom">
        <Link href="/docs">Documentation</Link>
        <a href="/llms.txt">For models</a>
        <a href="/api/v1/openapi.json">OpenAPI</a>
      </footer>
    </>
  );
}

function NavItem({ to, children }: { to: string; children: ReactNode }) {
  const [path] = useLocation();
  const isHere = path === to || path.startsWith(`${to}/`);
  return (
    <Link href={to} aria-current={isHere ? 'page' : undefined}>
      {children}
    </Link>
  );
}

function Operators() {
  const { data: me } = useMe();
  return me?.is_operator ? <NavItem to="/operator">Operate</NavItem> : null;
}

function Who() {
  const { data: me, isPending } = useMe();
  const [, go] = useLocation();
  const signOut = useSignOut();
  if (isPending) return <span className="who" />;
  if (!me)
    return (
      <Link href="/sign-in" className="who button">
        Sign in
      </Link>
    );
  return (
    <span className="who row">
      {me.wallet_address === null ? me.display_name : <Hash of={me.wallet_address} />}
      <button type="button" onClick={() => void signOut().then(() => go('/'))}>
        Sign out
      </button>
    </span>
  );
}
