// Shapes that have a name in the OpenAPI document: written once there, and wherever the same schema object stands in the
// tables the document refers to it. The interface's own names where it has them.

import { FirstAdministrator, FirstRun } from '../../contract/account/first-run.ts'
import {
  LanguageChange,
  OwnSession,
  OwnSessions,
  PasswordChange,
} from '../../contract/account/own-account.ts'
import { Ended, Session } from '../../contract/account/session.ts'
import { Changed } from '../../contract/administration/changed.ts'
import {
  AutomationFields,
  ChannelCopy,
  ChannelSetup,
  SetupFields,
} from '../../contract/administration/channels.ts'
import {
  ConnectionTest,
  TestedCertificate,
  TestedLine,
  TestStep,
} from '../../contract/administration/connection-test.ts'
import { PlatformFileText } from '../../contract/administration/file-operations.ts'
import {
  ContactFacts,
  ContactFields,
  ContactSummary,
  EntityFields,
  LocalEntityFacts,
} from '../../contract/administration/partners.ts'
import {
  PlatformChannel,
  PlatformContact,
  PlatformEntity,
} from '../../contract/administration/platform-file.ts'
import { MadeToken, NewToken, SystemToken } from '../../contract/administration/tokens.ts'
import { NewPassword, NewUser, UserAccount, UserFields } from '../../contract/administration/users.ts'
import { AuditChange, AuditEntry, AuditPage, AuditVerification } from '../../contract/audit.ts'
import {
  AdvancedConnection,
  AdvancedTransmission,
  Channel,
  ChannelHistory,
  ChannelPath,
  ChannelStatus,
  Connection,
  Directory,
  Integration,
  Planning,
  Security,
} from '../../contract/channel.ts'
import { Contact, ContactPerson, RemoteCode, RemoteIp } from '../../contract/contact.ts'
import {
  ChannelKeys,
  KeyAccepted,
  KeyFacts,
  KeyInUse,
  KeyText,
  NewKey,
  ProposedKey,
  SeenFingerprint,
} from '../../contract/administration/keys.ts'
import { QuarantinedFileFacts } from '../../contract/administration/quarantine.ts'
import { Calendar, Expectation } from '../../contract/calendar.ts'
import { ErrorBody } from '../../contract/error-body.ts'
import { NodeEvent } from '../../contract/event-types.ts'
import {
  Acknowledgement,
  CalendarList,
  CalendarYear,
  CronYear,
  DeliveryFacts,
  DeliveryList,
  EventList,
  ExpectationList,
  ExpectationYear,
  ExpectedDay,
  ExpectedDays,
  SubscriptionFacts,
} from '../../contract/notifications.ts'
import { operations } from '../../contract/operations.ts'
import type { Operation } from '../../contract/operations.ts'
import { Pageable, Sort } from '../../contract/page.ts'
import {
  ActiveTransfer,
  ChannelFilters,
  ChannelSummary,
  FailedTransfer,
  FileProgress,
  Hour,
  Overview,
  platformOperations,
  TransferFacts,
  UnreachablePartner,
} from '../../contract/platform.ts'
import { shapeOf } from '../../contract/schema.ts'
import { NeededReason, Reason, SendPreview, UploadedFile } from '../../contract/transfer-actions.ts'
import { TransferSearch, TransferSummary } from '../../contract/transfer-search.ts'
import { Transfer, TransferFile } from '../../contract/transfer.ts'
import { LoginResponseV1, LoginResponseV2, LoginV1, LoginV2 } from '../../contract/user.ts'

export type Json = { [key: string]: unknown }

/** The interface first, then what the node adds. */
export const ALL_OPERATIONS: Record<string, Operation> = { ...operations, ...platformOperations }

const NAMED = {
  ChannelResponse: Channel,
  Connection,
  AdvancedConfigurationTransmission: AdvancedTransmission,
  AdvancedConfigurationConnection: AdvancedConnection,
  ChannelDirectoryResponse: Directory,
  ChannelIntegrationResponse: Integration,
  ChannelSecurityResponse: Security,
  ChannelPlanningResponse: Planning,
  ChannelPath,
  ChannelStatusResponse: ChannelStatus,
  ChannelHistoryResponse: ChannelHistory,
  Transfer,
  TransferFile,
  Contact,
  RemoteCode,
  RemoteIp,
  ContactPerson,
  LoginV1,
  LoginV2,
  LoginResponseV1,
  LoginResponseV2,
  Sort,
  Pageable,
  ErrorBody,
  Session,
  Ended,
  OwnSession,
  OwnSessions,
  PasswordChange,
  LanguageChange,
  FirstRun,
  FirstAdministrator,
  Overview,
  ActiveTransfer,
  FailedTransfer,
  Hour,
  UnreachablePartner,
  ChannelSummary,
  ChannelFilters,
  TransferFacts,
  FileProgress,
  TransferSummary,
  TransferSearch,
  SendPreview,
  UploadedFile,
  Reason,
  NeededReason,
  Changed,
  UserAccount,
  SystemToken,
  NewToken,
  MadeToken,
  NewUser,
  UserFields,
  NewPassword,
  LocalEntityFacts,
  PlatformEntity,
  EntityFields,
  ContactSummary,
  ContactFacts,
  PlatformContact,
  ContactFields,
  ConnectionTest,
  TestedLine,
  TestedCertificate,
  TestStep,
  ChannelSetup,
  PlatformChannel,
  ChannelCopy,
  SetupFields,
  AutomationFields,
  PlatformFileText,
  AuditChange,
  AuditEntry,
  AuditPage,
  AuditVerification,
  KeyFacts,
  KeyInUse,
  KeyText,
  ChannelKeys,
  NewKey,
  ProposedKey,
  KeyAccepted,
  SeenFingerprint,
  QuarantinedFileFacts,
  NodeEvent,
  EventList,
  SubscriptionFacts,
  DeliveryFacts,
  DeliveryList,
  ExpectedDay,
  ExpectedDays,
  Acknowledgement,
  Calendar,
  CalendarList,
  CalendarYear,
  Expectation,
  ExpectationList,
  ExpectationYear,
  CronYear,
}

const names = new Map<unknown, string>(Object.entries(NAMED).map(([name, schema]) => [schema, name]))
for (const { ok } of Object.values(ALL_OPERATIONS)) {
  const { content, pageable } = (ok as { properties?: Record<string, { items?: unknown }> }).properties ?? {}
  const item = nameOf(content?.items)
  if (pageable && item !== undefined) names.set(ok, `Page${item}`)
}

export function nameOf(schema: unknown): string | undefined {
  return names.get(shapeOf(schema))
}

export function componentSchemas(): Json {
  return Object.fromEntries([...names].map(([schema, name]) => [name, copyOf(schema)]))
}

/** A plain copy in which every named schema is a reference; an update takes what it patches. */
export function refer(value: unknown): unknown {
  const name = nameOf(value)
  return name === undefined ? copyOf(shapeOf(value)) : { $ref: `#/components/schemas/${name}` }
}

function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(refer)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, refer(item)]))
}
