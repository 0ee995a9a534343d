import { lazy, Suspense } from 'react';
import { Link, Route, Switch } from 'wouter';
import { Shell } from './parts/shell.js';
import { Empty, Skeleton } from './parts/states.js';
import { useTitle } from './lib/use-title.js';
import { Catalog } from './pages/catalog.js';
import { Home } from './pages/home.js';

const ListingPage = lazy(() => import('./pages/listing.js'));
const AgentPage = lazy(() => import('./pages/agent.js'));
const Docs = lazy(() => import('./pages/docs.js'));
const SignIn = lazy(() => import('./pages/sign-in.js'));
const OidcReturn = lazy(() => import('./pages/oidc-return.js'));
const Operator = lazy(() => import('./operator/operator.js'));
const Mine = lazy(() => import('./mine/mine.js'));

/** The routes of the console. The edge serves the same page for all of them (apps/api-gateway/src/console). */
export const App = () => (
  <Shell>
    <Suspense fallback={<Skeleton lines={8} />}>
      <Switch>
        <Route path="/" component={Home} />
        <Route path="/catalog" component={Catalog} />
        <Route path="/listings/:slug">{({ slug }) => <ListingPage key={slug} slug={slug} />}</Route>
        <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
        <Route path="/docs" component={Docs} />
        <Route path="/sign-in" component={SignIn} />
        <Route path="/sign-in/oidc" component={OidcReturn} />
        <Route path="/mine" component={Mine} />
        <Route path="/mine/*" component={Mine} />
        <Route path="/operator" component={Operator} />
        <Route path="/operator/*" component={Operator} />
        <Route component={NotFound} />
      </Switch>
    </Suspense>
  </Shell>
);

function NotFound() {
  useTitle('Not found');
  return (
    <>
      <h1>Nothing is here</h1>
      <Empty title="There is no page at this address.">
        <p>
          <Link href="/">Back to the start page</Link>
        </p>
      </Empty>
    </>
  );
}
