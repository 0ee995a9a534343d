import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.js';
import { App } from './app.js';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // Only temporary errors are retried.
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.isTemporary,
      retryDelay: (failures, error) =>
        Math.min(10, (error as ApiError).retryAfterSeconds ?? 0.5 * 2 ** failures) * 1_000,
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
