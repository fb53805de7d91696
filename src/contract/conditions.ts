// When each status code is answered: what holds for every operation, and what an operation adds to it. The OpenAPI
// document, the reference page and the docs show it; the handlers do it.

import { CONSOLE_HEADER } from './account/session.ts'
import type { OperationName } from './operations.ts'
import type { PlatformOperationName } from './platform.ts'

export const EVERYWHERE: Record<number, string> = {
  400: 'The path, the query or the body is malformed; the message names the place and what is allowed there. A query parameter that the operation does not know counts, too.',
  401: 'The token is missing, malformed, expired or no longer valid: log in, then call again.',
  403: 'The role or a permission of the user does not allow it, or the channel is not open to this user.',
  404: 'There is no such channel or transfer.',
  409: 'The state of things does not allow it now; the message says why.',
  412: 'Somebody has changed the thing since the revision that If-Match names; only for callers that send it.',
  413: 'The body is larger than this operation takes.',
  429: 'Too many failed logins: wait as long as Retry-After says, even with the right password.',
  500: 'A fault of the node; the message names the request under which the log has it.',
}

export const OTHER_CODES =
  'Any other error, in the same body: 405 for another method (Allow says which there are), 413 for a body over the limit (1 MiB, where nothing else is said), 415 for a body that is not JSON in UTF-8, 503 while the node drains, its database does not answer or its disk is full (Retry-After says how long).'

type Conditions = Partial<Record<number, string>>

const LOGIN: Conditions = {
  400: 'The body does not hold the two strings, or holds more, or there is a query.',
  401: 'The user is unknown or disabled, or the password is wrong: the same answer for each.',
}
const VALUES: Conditions = {
  400: 'A value is malformed, outside its allowed set, or not possible on this node (a path outside the file roots, a key that is none). Nothing is changed.',
  403: 'The role or a permission does not allow this change, or the channel is not open to this user. The message names the field and what is missing.',
}
const PATH: Conditions = {
  ...VALUES,
  400: 'The path is malformed or outside the file roots; with verifyExists it is not there on the node.',
}

const NO_BODY = 'The path or the query is malformed, or the body is neither empty nor {}.'
/** Of operations that are open to every user. */
const OWN: Conditions = {
  403: `The console’s session was sent by a page of another site, or, for a change, without the header ${CONSOLE_HEADER}.`,
}

const SUBSCRIPTION: Conditions = {
  400: NO_BODY,
  404: 'There is no such subscription.',
  409: 'The subscription is switched off: enable it first.',
}

export const CONDITIONS: Partial<Record<OperationName | PlatformOperationName, Conditions>> = {
  loginV1: LOGIN,
  loginV2: LOGIN,
  session: OWN,
  endSession: OWN,
  listOwnSessions: OWN,
  endOwnSession: { ...OWN, 404: 'You have no such session.' },
  endOwnSessions: OWN,
  changeOwnPassword: OWN,
  changeOwnLanguage: OWN,
  channelConfiguration: { 404: 'There is no such channel, or its code has another form.' },
  channelHistory: { 404: 'There is no such channel, or its code has another form.' },
  updateChannel: {
    ...VALUES,
    400: `${VALUES[400]} So is a value for localEntity, remoteEntity or application that is not the code’s own.`,
  },
  updateIps: VALUES,
  updateDirectories: VALUES,
  setOutboundPath: PATH,
  setInboundPath: PATH,
  listTransfers: {
    400: 'The query is malformed, a day is not a real one, or initialDate is after endDate.',
    404: 'There is no such channel, or its code has another form.',
  },
  transferDetail: { 404: 'There is no such channel, or it has no such transfer.' },
  resetChannel: { 400: NO_BODY, 409: 'Never: with nothing to do it still answers 200.' },
  uploadFile: {
    400: 'The name is none that a send would take, or fits no outbound directory; the channel’s direction is RECEPCION, or it has no outbound directory; the upload broke off.',
    409: 'A file of that name lies there already; the partner’s quota is met or the disk is full; the channel is inactive or emission.active is false.',
    413: 'The file is larger than an upload may be (ESCLUSA_MAX_UPLOAD_MEGABYTES).',
  },
  retryTransfer: {
    400: NO_BODY,
    409: 'There is no failed transfer that was neither retried nor reset (the message says what the last transfers were); the only one is a reception that the partner started; one in the same direction is pending or in progress; the channel is inactive or closed that way; a file is gone, has changed, or was sent since.',
  },
  sendTransfer: {
    400: `The channel’s direction is RECEPCION, or it has no outbound directory. ${NO_BODY}`,
    409: 'The channel is inactive or emission.active is false; an emission is pending or in progress; there is no file to send (the message names the places looked at); every file was sent already and allowSendDuplicateFiles is false.',
  },
  testContact: {
    400: NO_BODY,
    404: 'There is no such contact.',
    409: 'A test of this contact is under way on this node.',
  },
  channelKeys: { 404: 'There is no such channel, or its code has another form.' },
  inspectKey: { 400: 'The body is malformed, or holds no key that can be read.' },
  generateChannelKey: {
    404: 'There is no such channel.',
    409: 'The channel has a local key, and replace is not true.',
  },
  acceptProposedKey: {
    403: 'The permission signer is off, or a channel of the partner is not open to this user.',
    404: 'There is no such proposed key.',
    409: 'The key has another fingerprint, is too short, or was accepted or refused already.',
  },
  refuseProposedKey: {
    400: NO_BODY,
    404: 'There is no such proposed key.',
    409: 'The key was accepted or refused already.',
  },
  downloadQuarantined: {
    404: 'There is no such quarantined file.',
    409: 'It was released or discarded, so its bytes are no longer here; or it could not be opened and form is opened.',
  },
  releaseQuarantined: {
    400: NO_BODY,
    404: 'There is no such quarantined file.',
    409: 'It was released or discarded already; it could not be opened; its channel is gone or has no inbound directory for it; its name is taken there and postReceptionRename is not true.',
  },
  discardQuarantined: {
    400: NO_BODY,
    404: 'There is no such quarantined file.',
    409: 'It was released or discarded already.',
  },
  fetchTransfer: {
    400: `The channel’s direction is EMISION, or it has no inbound directory. ${NO_BODY}`,
    409: 'The channel is inactive or reception.active is false; a reception is pending or in progress; the partner calls for the channel (callingEnd REMOTO), or its contact names no place to fetch from.',
  },
  listEvents: { 400: 'The query is malformed, before or after is no id of an event, or both are given.' },
  testSubscription: SUBSCRIPTION,
  enableSubscription: SUBSCRIPTION,
  resendDelivery: {
    ...SUBSCRIPTION,
    404: 'There is no such subscription, or it has no delivery of this event.',
  },
  acknowledgeExpectation: { 404: 'The expectation has no such day.' },
  expectationYear: { 404: 'There is no such expectation.' },
  calendarYear: { 404: 'There is no such calendar.' },
  cronYear: {
    400: 'The query is malformed, neither or both of channelCode and cron are given, or the expression or the time zone cannot be read.',
    404: 'There is no such channel or calendar, or the channel has no cron expression.',
  },
}

export function conditionOf(name: string, code: number): string {
  const own = (CONDITIONS as Record<string, Conditions | undefined>)[name]
  return own?.[code] ?? EVERYWHERE[code] ?? ''
}
