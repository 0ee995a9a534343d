import { useEffect } from 'react';

/** Names the page in the browser's tab, and for a screen reader when it comes to it. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Agent Marketplace`;
  }, [title]);
}
