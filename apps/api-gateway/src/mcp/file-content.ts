import { EVENT_STREAM, mediaTypeOf } from '@market/contracts/gateway';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isUtf8 } from 'node:buffer';
import { fileNameOf, isShown } from '../gateway/file-view.js';
import { contentUrlOf } from '../gateway/send-answer.js';
import { toolResult } from './tool-result.js';

/** The `seller_response` of an answer that is a file, or a stream. */
interface File {
  content_type: string;
  size: number;
  sha256: string;
  base64?: string;
  /** Of a stream; absent if it is too long. */
  events?: object[];
  /** Of a stream alone. */
  outcome?: string;
  content_url: string | null;
}

interface FileResult {
  request_id: string;
  seller_response: File;
}

/**
 * Returns the result of a call with a block for its file, if it is one: the bytes, or above 1 MiB a link to them. The
 * structured content keeps the facts without the bytes. The events of a stream are in it; one that is too long is linked.
 */
export function withFile(result: CallToolResult, publicUrl: string): CallToolResult {
  const value = result.structuredContent;
  if (!isFileResult(value) || value.seller_response.events) return result;
  const { base64, ...file } = value.seller_response;
  const { content, ...shown } = toolResult({ ...value, seller_response: file });
  const uri = file.content_url === null ? `urn:uuid:${value.request_id}` : `${publicUrl}${file.content_url}`;
  const block = base64 === undefined ? linkOf(value, uri) : blockOf(file.content_type, base64, uri);
  return { ...shown, content: block ? [...content, block] : content };
}

/** A seller's JSON can look like a file; the path of the bytes keeps it from linking to another place. */
function isFileResult(value: unknown): value is FileResult {
  const { request_id, seller_response } = (value ?? {}) as Partial<FileResult>;
  const { content_type, size, sha256, base64, content_url } = (seller_response ?? {}) as Partial<File>;
  return (
    typeof content_type === 'string' &&
    Number.isSafeInteger(size) &&
    typeof sha256 === 'string' &&
    (base64 === undefined || typeof base64 === 'string') &&
    (content_url === null || content_url === contentUrlOf(request_id!))
  );
}

/** Models take the images and sounds that browsers show; text is readable as such. */
function blockOf(contentType: string, data: string, uri: string): ContentBlock {
  const mimeType = mediaTypeOf(contentType);
  const [kind] = mimeType.split('/', 1);
  if ((kind === 'image' || kind === 'audio') && isShown(contentType)) return { type: kind, data, mimeType };
  const bytes = Buffer.from(data, 'base64');
  const body = kind === 'text' && isUtf8(bytes) ? { text: bytes.toString() } : { blob: data };
  return { type: 'resource', resource: { uri, mimeType, ...body } };
}

/** Without a key there is no address that has the bytes. */
function linkOf({ request_id, seller_response: file }: FileResult, uri: string): ContentBlock | undefined {
  if (file.content_url === null) return undefined;
  // A stream is read as server-sent events, whatever its seller sent.
  const contentType = file.outcome === undefined ? file.content_type : EVENT_STREAM;
  return {
    type: 'resource_link',
    uri,
    name: fileNameOf(request_id, contentType),
    mimeType: mediaTypeOf(contentType),
    size: file.size,
  };
}
