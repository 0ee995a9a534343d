import { solveProofOfWork, type ProofOfWorkPuzzle } from '@market/sdk';

export type WorkReport = { nonce: string } | { progress: number };

/** Works apart from the page, which stays answerable meanwhile. */
self.onmessage = async ({ data }: MessageEvent<ProofOfWorkPuzzle>) => {
  const report = (message: WorkReport): void => self.postMessage(message);
  const nonce = await solveProofOfWork(data, {
    onProgress: (tried, expected) => report({ progress: Math.min(1, tried / expected) }),
  });
  report({ nonce });
};
