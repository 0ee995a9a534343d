import { solveProofOfWork, type ProofOfWorkPuzzle } from '@market/sdk';

export type WorkReport = { nonce: string } | { progress: number };

/** Runs in a worker, so that the page stays responsive. */
self.onmessage = async ({ data }: MessageEvent<ProofOfWorkPuzzle>) => {
  const report = (message: WorkReport): void => self.postMessage(message);
  const nonce = await solveProofOfWork(data, {
    onProgress: (tried, expected) => report({ progress: Math.min(1, tried / expected) }),
  });
  report({ nonce });
};
