/** SQL: the file of a stored result, as `StoredContent`. */
export const CONTENT =
  "CASE WHEN content_id IS NOT NULL THEN json_build_object('id', content_id, 'contentType', content_type, 'size', " +
  "content_size, 'sha256', encode(response_digest, 'hex'), 'attempt', attempts) END AS content";
/** SQL: the columns of a stored result, named as in `Result`. */
export const RESULT_COLUMNS =
  CONTENT +
  ', result_json AS answer, response_digest AS "answerDigest", seller_status_code AS "statusCode", ' +
  'latency_ms AS "latencyMs", units::float8 AS units';
