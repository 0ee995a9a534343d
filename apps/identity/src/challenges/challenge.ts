import { randomBytes } from 'node:crypto';
import type { SignInRequest } from './sign-in-message.js';

/** The content that a wallet was asked to sign, and the proof of work to solve before. */
export interface Challenge extends Omit<SignInRequest, 'publicUrl'> {
  pow: { challenge: string; difficulty: number };
}

const NONCE = /^[0-9a-f]{32}$/;

/** 128 random bits in the alphabet of EIP-4361. */
export const newNonce = (): string => randomBytes(16).toString('hex');

export const isNonce = (text: string): boolean => NONCE.test(text);
