/**
 * What we call ourselves in `connect` (RTMP 1.0, section 7.2.1.1): as an encoder of Adobe's, which every server knows. A push
 * says that it is one, so that the server it reaches, should that be a Millrace, takes no key from an encoder for it.
 */
export const flashVersions = {
  encoder: 'FMLE/3.0 (compatible; Millrace)',
  push: 'FMLE/3.0 (compatible; Millrace push)',
} as const;
