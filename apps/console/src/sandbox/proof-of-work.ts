import type { ProofOfWorkPuzzle } from '@market/sdk';
import type { WorkReport } from './proof-of-work.worker.js';

/** The address of the built proof-of-work.worker.ts, set by build.mjs. */
declare const PROOF_OF_WORK_WORKER: string;

/** Solves a proof of work beside the page. `onProgress` gets the share of the work that is done. */
export function work(puzzle: ProofOfWorkPuzzle, onProgress: (share: number) => void = () => {}): Promise<string> {
  const worker = new Worker(PROOF_OF_WORK_WORKER, { type: 'module' });
  return new Promise<string>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<WorkReport>) =>
      'nonce' in data ? resolve(data.nonce) : onProgress(data.progress);
    worker.onerror = () => reject(new Error('The proof of work could not be computed in this browser.'));
    worker.postMessage({ challenge: puzzle.challenge, difficulty: puzzle.difficulty });
  }).finally(() => worker.terminate());
}
