import { useEffect } from 'react';

/** Sets the title of the browser's tab, which screen readers announce. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Agent Marketplace`;
  }, [title]);
}
