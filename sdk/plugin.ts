/**
 * `millrace/plugin`: everything that a plugin outside this repository imports. A name that is here keeps its meaning within one
 * contract version; `sdk/api.md` shows all of them with their types. Guide: docs/plugins. Sorted by `npm run fix`.
 */

export { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
export { Value } from '@sinclair/typebox/value';
export { type AnyElysia, Elysia } from 'elysia';
export {
  type AnyStateMachine,
  and,
  assign,
  cancel,
  emit,
  enqueueActions,
  not,
  or,
  raise,
  setup,
  stateIn,
} from 'xstate';
export { ByteLru, type Room } from '../core/base/byte-lru.ts';
export {
  bytesOf,
  durationSchema,
  limitSchema,
  milliseconds,
  sizeSchema,
} from '../core/base/config-fields.ts';
export { Fault, hasCode, isAccepted, isRefusal, unlessRefused, unlessThere } from '../core/base/fault.ts';
export { derivedId, isUuid, uuid } from '../core/base/ids.ts';
export { KeyedQueues } from '../core/base/keyed-queues.ts';
export type { Log, LogFields } from '../core/base/log.ts';
export type { Counter, Family, Histogram, Metrics } from '../core/base/metrics.ts';
export { nameSchema, userTagsSchema } from '../core/base/name.ts';
export { didYouMean } from '../core/base/near-miss.ts';
export { pulledStream } from '../core/base/pulled-stream.ts';
export { object, oneOf, optional } from '../core/base/schema.ts';
export { idOrNone, withoutSecrets } from '../core/base/secrets.ts';
export { sideBySide } from '../core/base/side-by-side.ts';
export { SingleFlight } from '../core/base/single-flight.ts';
export { every, pause, regularly, within } from '../core/base/timing.ts';
export { endings as blobEndings } from '../core/blobs/endings.ts';
export { blobFaults } from '../core/blobs/faults.ts';
export { piecesOf } from '../core/blobs/source.ts';
export { type Access, type AccessRule, allows, type Demand } from '../core/http/access.ts';
export {
  type AuthenticationOptions,
  type Authenticator,
  authenticate,
  authenticateBy,
  authenticator,
  basicCredentials,
  type Credentials,
  notAllowed,
  type Principal,
} from '../core/http/auth.ts';
export { type BodyReader, bodyBytes, bodyReader } from '../core/http/body.ts';
export type { Caller } from '../core/http/caller.ts';
export type { ErrorFormat } from '../core/http/error-format.ts';
export { type AnsweredFile, fileAnswer, fileFaults } from '../core/http/file-answer.ts';
export { contentDisposition } from '../core/http/file-name.ts';
export { type FileRoute, fileRoute } from '../core/http/file-route.ts';
export { hold } from '../core/http/hold.ts';
export { faultResponse, says } from '../core/http/http.ts';
export { type Attempt as RequestAttempt, shownOnce } from '../core/http/idempotency.ts';
export type { InnerCall } from '../core/http/inner-call.ts';
export { type Call, type KeyedRoutes, keyedRoutes } from '../core/http/keyed.ts';
export {
  type ListedResource,
  type ListScopeOfRoute,
  listAnswer,
  listParameters,
  resourceList,
} from '../core/http/list.ts';
export {
  type Answer,
  flagSchema,
  idSchema,
  json,
  momentSchema,
  nothing,
  type Operation,
  type OperationBody,
  type Parameters,
  storeFaults,
  text,
} from '../core/http/operation.ts';
export { gateFaults, type PlayGate, playGate } from '../core/http/play-gate.ts';
export { openly, preflight, saysPreflight } from '../core/http/public-access.ts';
export { type FilterField, flagOf, invalidQuery, limitOf } from '../core/http/query.ts';
export { type Quota, type QuotaOptions, quota } from '../core/http/quota.ts';
export type {
  Actors,
  ActorType,
  ActorView,
  CommandOf,
  DescribedStep,
  Emitted,
  EventDescription,
  RowIds,
} from '../core/plugin/actor.ts';
export { checkBlobKeys, keyProblem, missingParts, partsOf, rangeOf } from '../core/plugin/blob-key.ts';
export {
  type Ask,
  type Decide,
  type Deciders,
  type Decision,
  type DecisionKind,
  type DeliveryQuestion,
  type ExportQuestion,
  type PlayQuestion,
  type PlaySubject,
  type PublishQuestion,
  type Questions,
  type Refusal,
  type UploadQuestion,
  type UploadSubject,
  undecided,
} from '../core/plugin/decide.ts';
export type { DriverContext, PortDrivers } from '../core/plugin/driver.ts';
export type { Attempt, Effect, EffectError } from '../core/plugin/effect.ts';
export {
  type DeclaredEvent,
  type Emission,
  type EventDeclaration,
  type EventFeed,
  type Events,
  payloadOf,
} from '../core/plugin/events.ts';
// ── The dashboard, the command line and the MCP server ──
export {
  type Command,
  commands,
  type DashboardColumn,
  type DashboardPage,
  type DashboardPanel,
  dashboardColumns,
  dashboardPages,
  dashboardPanels,
  type Tool,
  tools,
} from '../core/plugin/face.ts';
export { faultMaker, faultsOf } from '../core/plugin/fault-table.ts';
export type {
  AudioSampleConfig,
  MediaInit,
  MediaPart,
  MediaSample,
  MediaSubscriber,
  OfferedRendition,
  PublishedBroadcast,
  RenditionOptions,
  RenditionRun,
  SampleConfig,
  TextCue,
  TextTrack,
  TextTrackOptions,
  VideoSampleConfig,
} from '../core/plugin/media.ts';
export type { KnownNode, LostNode, NodeInfo, NodeRequest, Nodes, Role } from '../core/plugin/nodes.ts';
export { type PlainResource, plainResources } from '../core/plugin/plain-resource.ts';
export {
  type AnyEffect,
  type AnyPlugin,
  type Deployment,
  definePlugin,
  effect,
  type FaultTable,
  type Kit,
  type NodeIdentity,
  type Plugin,
  type Resources,
  type StepKit,
  type Stop,
} from '../core/plugin/plugin.ts';
export {
  type Derivation,
  type DerivationSet,
  type Derived,
  type Field,
  type FieldChange,
  type FieldSet,
  type FieldValues,
  field,
  type ResourceKind,
  resource,
} from '../core/plugin/resource.ts';
export { rowPages } from '../core/plugin/row-pages.ts';
export { type SafeCall, safeCalls } from '../core/plugin/safe-calls.ts';
export { type Services, services } from '../core/plugin/services.ts';
export {
  type Collection,
  collection,
  type EntryNames,
  kebabProblem,
  type Offer,
  offer,
  type Token,
  token,
} from '../core/plugin/token.ts';

export {
  type BlobFacts,
  type BlobPage,
  type BlobPart,
  type BlobRange,
  type BlobSource,
  type Blobs,
  type BlobUpload,
  type BlobUploads,
  blobLimits,
  type CompleteOutcome,
  type GetOutcome,
  type PutOptions,
  type PutOutcome,
  typeOf,
  type UnfinishedUpload,
} from '../core/ports/blobs.ts';
export type { Clock } from '../core/ports/clock.ts';
export type { ConversionOrder, Converter } from '../core/ports/converter.ts';
export type { Inspection, Inspector } from '../core/ports/inspector.ts';
export type { Intake, ReceivedFile } from '../core/ports/intake.ts';
export type {
  Figures,
  LiveReading,
  Media,
  PublishGrant,
  PublishRefusal,
  PublishRequest,
  Vitals,
} from '../core/ports/media.ts';
export {
  isTemporary,
  type Outbound,
  type OutboundAnswer,
  type OutboundFailure,
  type OutboundMethod,
  type OutboundReason,
  type OutboundRequest,
  type OutboundStream,
  retryAfterOf,
} from '../core/ports/outbound.ts';
export type { PackedFile, Packer } from '../core/ports/packer.ts';
export type { Pusher, PushFact, PushOrder } from '../core/ports/pusher.ts';
export type { FinishedRecording, Recorder, TrackSpec, VideoSpec } from '../core/ports/recorder.ts';
export type { Secrets } from '../core/ports/secrets.ts';
export type { Still, StillOrder, Stills } from '../core/ports/stills.ts';
export type {
  EventWrite,
  Filter,
  FilterCondition,
  ListQuery,
  ListScope,
  LoggedEvent,
  NumberRange,
  OrderTerm,
  Place,
  ResourceCommit,
  ResourceReader,
  ResourceWrite,
  StoredResource,
} from '../core/ports/store.ts';
export type { LadderReading, RenditionProfile, Transcoder } from '../core/ports/transcoder.ts';
export type { Json, Volatile, VolatileEntry } from '../core/ports/volatile.ts';
export { type FindByName, findByName, type PlaybackAliases } from '../core/vod/aliases.ts';
export type { Vod } from '../core/vod/answer.ts';
export type { FilmFile } from '../core/vod/film-media.ts';
export { filmSound } from '../core/vod/film-sound.ts';
export {
  type FilmIdentity,
  type FilmTextTrack,
  type TextTracksOf,
  textTracks,
} from '../core/vod/text-tracks.ts';
export { job } from '../machines/job.ts';
export {
  type AssetFile,
  type AssetOrder,
  type AssetReference,
  type AssetSource,
  type Assets,
  type AssetTerms,
  assetNotFound,
  assetNotReady,
  assetResource,
  assets,
  assetTerms,
  filmFiles,
  films,
  type NewAsset,
  orderFaults,
} from '../plugins/assets/contract.ts';
export { type Concern, concerns } from '../plugins/health/contract.ts';
export { type IngestAddress, nodeAddresses } from '../plugins/ingest/contract.ts';
export {
  neverReady,
  notReady,
  type Playable,
  type PlaybackInfo,
  playableFinder,
  playables,
  playbackAliases,
  playbackSchema,
} from '../plugins/playback/contract.ts';
export { type TokenDialect, type TranslatedClaims, tokenDialects } from '../plugins/protection/contract.ts';
export { type Profile, profileSchema } from '../plugins/renditions/contract.ts';
export {
  ingestAddresses,
  type LiveFile,
  type LiveObserver,
  liveFiles,
  type PublishTerms,
  publishTerms,
  type SessionFacts,
  type SessionRecording,
  type StreamState,
  type Streams,
  setFieldsFaults,
  stream,
  streams,
  watchPages,
} from '../plugins/streams/contract.ts';
export {
  type NewTask,
  type TaskKind,
  type TaskPhase,
  type TaskReference,
  type TaskResult,
  type Tasks,
  type TaskType,
  type TaskWork,
  taskKinds,
  taskSchema,
  tasks,
} from '../plugins/tasks/contract.ts';
export {
  type NewWebhook,
  type SignedDelivery,
  type SignOptions,
  type WebhookEvent,
  type WebhookFormat,
  type WebhookInfo,
  type WebhookOwner,
  type Webhooks,
  webhookFormats,
  webhooks,
} from '../plugins/webhooks/contract.ts';
