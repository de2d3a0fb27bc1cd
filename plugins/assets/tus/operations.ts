import { type TSchema, Type } from '@sinclair/typebox';
import { says } from '../../../core/http/http.ts';
import { type Answer, idSchema, nothing, type Operation, storeFaults } from '../../../core/http/operation.ts';
import { intakeFaults, storingFaults, tryFaults } from '../uploads/faults.ts';
import { signedQuery } from '../uploads/url.ts';

const header = (example: string, description = ''): TSchema =>
  Type.String({ examples: [example], ...(description !== '' && { description }) });
const required = (schema: TSchema): TSchema => ({ ...schema, isRequired: true });
const resumable = required(header('1.0.0', 'Version of tus.'));
const offset = header('7340032', 'Bytes that have come.');
const bytes = ['application/offset+octet-stream'];
const state = { 'Upload-Offset': offset, 'Upload-Expires': header('Thu, 01 Jan 2026 12:00:00 GMT') };

const open: Open = { isOpen: true, path: { assetId: idSchema } };
const one: Open = {
  isOpen: true,
  path: { assetId: idSchema, uploadId: idSchema },
  query: { node: Type.String({ isRequired: true, examples: ['local'] }), ...signedQuery },
};
type Open = Pick<Operation, 'isOpen' | 'path' | 'query'>;
const ofAll = [
  ...['upload.altered', 'upload.revoked', 'upload.wrong_version', 'upload.invalid', 'asset.not_found'],
  ...storeFaults,
];
const ofOne = [...ofAll, 'upload.ended', 'upload.not_found', 'upload.locked', 'node.unreachable'];
const ofBytes = [
  ...[...tryFaults, 'upload.wrong_type', 'upload.interrupted', 'intake.beyond'],
  ...[...intakeFaults, ...storingFaults],
];
const ofPatch = [...ofOne, ...ofBytes, 'upload.wrong_offset', 'upload.length_required'];
const done = (description: string): Answer => ({ description, headers: state });

/** What clients must know of the routes of tus. */
export const said = {
  endpointOptions: says(
    'Tells what of tus is supported, and a browser that pages of every origin may upload here.',
    {
      ...{ ...open, name: 'tusOptions', answers: { 204: nothing } },
    },
  ),
  uploadOptions: says('The same of one upload.', {
    ...{ isOpen: true as const, name: 'tusUploadOptions', path: one.path, answers: { 204: nothing } },
  }),
  create: says('Creates a tus upload; the body may have its first bytes. 201 with its URL in `Location`.', {
    ...{ ...open, name: 'createTusUpload', query: signedQuery, file: bytes },
    headers: {
      ...{ 'Tus-Resumable': resumable, 'Upload-Length': required(header('104857600', 'Bytes of the file.')) },
      'Upload-Metadata': header(
        'filename ZmlsbS5tcDQ=',
        'Stored, and shown by HEAD; nothing else comes of it.',
      ),
    },
    answers: {
      201: {
        description: 'Begun.',
        headers: { Location: header('https://video.example.com/upload/…'), ...state },
      },
    },
    faults: [...ofAll, ...ofBytes, 'upload.expired', 'upload.locked', 'upload.not_found', 'intake.too_large'],
  }),
  state: says('How much of a tus upload has come. What still comes of it is ended.', {
    ...{ ...one, name: 'stateOfTusUpload', headers: { 'Tus-Resumable': resumable } },
    answers: {
      200: {
        description: 'How much has come; when it is all, the asset is ready.',
        headers: {
          ...state,
          'Upload-Length': header('104857600'),
          'Upload-Metadata': header('filename ZmlsbS5tcDQ='),
        },
      },
    },
    faults: [...ofOne, 'upload.accepted', 'upload.cancelled', 'upload.busy', 'upload.refused'],
  }),
  append: says('Appends bytes to a tus upload. After the last byte, the file is accepted or refused.', {
    ...{ ...one, name: 'appendToTusUpload', file: bytes },
    headers: { 'Tus-Resumable': resumable, 'Upload-Offset': required(offset) },
    answers: { 204: done('They are kept, whatever happens. When they are all, the asset is ready.') },
    faults: ofPatch,
  }),
  terminate: says('Terminates a tus upload and deletes its bytes. 204.', {
    ...{ ...one, name: 'terminateTusUpload', headers: { 'Tus-Resumable': resumable } },
    answers: { 204: nothing },
    faults: [...ofOne, 'upload.accepted'],
  }),
  override: says('For clients that can only send POST: runs the method in `X-HTTP-Method-Override`.', {
    ...{ ...one, name: 'overrideTusUpload', file: bytes },
    headers: {
      ...{ 'Tus-Resumable': resumable, 'Upload-Offset': offset },
      'X-HTTP-Method-Override': required(header('PATCH')),
    },
    answers: { 200: done('As HEAD.'), 204: done('As PATCH or DELETE.') },
    faults: [...ofPatch, 'route.method_not_allowed'],
  }),
};
