// What mails say, in the reader's language.

import type { EventType } from '../../contract/event-types.ts'
import type { MailLanguage } from '../../contract/subscription.ts'

type Named = { one: string; many: string }

export type MailWords = {
  /** Of one event, and of several of its type. */
  types: Record<EventType, Named>
  channel: string
  partner: string
  reason: string
  file: string
  expectation: string
  day: string
  due: string
  came: (count: number, atLeast: number) => string
  node: string
  subscription: string
  fingerprint: string
  expires: string
  address: string
  by: string
  open: string
  summary: (count: number) => string
  more: (count: number) => string
  footer: (subscription: string) => string
}

const en: MailWords = {
  types: {
    'transfer.requested': { one: 'Transfer requested', many: 'transfers requested' },
    'transfer.started': { one: 'Transfer started', many: 'transfers started' },
    'transfer.completed': { one: 'Transfer completed', many: 'transfers completed' },
    'transfer.failed': { one: 'Transfer failed', many: 'transfers failed' },
    'transfer.cancelled': { one: 'Transfer cancelled', many: 'transfers cancelled' },
    'file.sent': { one: 'File sent', many: 'files sent' },
    'file.received': { one: 'File received', many: 'files received' },
    'file.quarantined': { one: 'File in quarantine', many: 'files in quarantine' },
    'channel.created': { one: 'Channel created', many: 'channels created' },
    'channel.updated': { one: 'Channel changed', many: 'changes of channels' },
    'channel.removed': { one: 'Channel removed', many: 'channels removed' },
    'partner.unreachable': { one: 'Partner cannot be reached', many: 'partners cannot be reached' },
    'partner.reachable': { one: 'Partner answers again', many: 'partners answer again' },
    'key.proposed': { one: 'Key proposed by a partner', many: 'keys proposed' },
    'key.accepted': { one: 'Key accepted', many: 'keys accepted' },
    'key.expiring': { one: 'Certificate expires soon', many: 'certificates expire soon' },
    'login.refused': { one: 'Logins refused', many: 'refusals of logins' },
    'expectation.warning': { one: 'Files due soon are not there', many: 'warnings of files due soon' },
    'expectation.met': { one: 'Expected files are there', many: 'expectations met' },
    'expectation.late': { one: 'Expected files came late', many: 'expectations met late' },
    'expectation.missed': { one: 'Expected files did not come', many: 'expectations missed' },
    'expectation.excess': { one: 'More files than expected', many: 'expectations exceeded' },
    'node.started': { one: 'Node started', many: 'nodes started' },
    'node.stopped': { one: 'Node stopped', many: 'nodes stopped' },
    'node.lost': { one: 'Node lost', many: 'nodes lost' },
    'subscription.disabled': { one: 'Subscription switched off', many: 'subscriptions switched off' },
    'subscription.test': { one: 'Test of this subscription', many: 'tests of this subscription' },
  },
  channel: 'Channel',
  partner: 'Partner',
  reason: 'Reason',
  file: 'File',
  expectation: 'Expectation',
  day: 'Day',
  due: 'Due by',
  came: (count, atLeast) => `${count} of ${atLeast} files`,
  node: 'Node',
  subscription: 'Subscription',
  fingerprint: 'Fingerprint',
  expires: 'Expires',
  address: 'Address',
  by: 'By',
  open: 'Open in the console',
  summary: (count) => `${count} events`,
  more: (count) => `… and ${count} more; all of them are in the list of events.`,
  footer: (subscription) =>
    `You get this because of the subscription ${subscription} of Esclusa. At most one such mail comes in five minutes.`,
}

const es: MailWords = {
  types: {
    'transfer.requested': { one: 'Transferencia solicitada', many: 'transferencias solicitadas' },
    'transfer.started': { one: 'Transferencia iniciada', many: 'transferencias iniciadas' },
    'transfer.completed': { one: 'Transferencia completada', many: 'transferencias completadas' },
    'transfer.failed': { one: 'Transferencia fallida', many: 'transferencias fallidas' },
    'transfer.cancelled': { one: 'Transferencia cancelada', many: 'transferencias canceladas' },
    'file.sent': { one: 'Fichero enviado', many: 'ficheros enviados' },
    'file.received': { one: 'Fichero recibido', many: 'ficheros recibidos' },
    'file.quarantined': { one: 'Fichero en cuarentena', many: 'ficheros en cuarentena' },
    'channel.created': { one: 'Canal creado', many: 'canales creados' },
    'channel.updated': { one: 'Canal modificado', many: 'cambios de canales' },
    'channel.removed': { one: 'Canal eliminado', many: 'canales eliminados' },
    'partner.unreachable': {
      one: 'No se puede contactar con el interlocutor',
      many: 'interlocutores sin respuesta',
    },
    'partner.reachable': {
      one: 'El interlocutor responde de nuevo',
      many: 'interlocutores que responden de nuevo',
    },
    'key.proposed': { one: 'Clave propuesta por un interlocutor', many: 'claves propuestas' },
    'key.accepted': { one: 'Clave aceptada', many: 'claves aceptadas' },
    'key.expiring': { one: 'Un certificado caduca pronto', many: 'certificados que caducan pronto' },
    'login.refused': { one: 'Accesos rechazados', many: 'rechazos de accesos' },
    'expectation.warning': {
      one: 'Faltan ficheros que vencen pronto',
      many: 'avisos de ficheros que vencen pronto',
    },
    'expectation.met': { one: 'Los ficheros esperados están', many: 'previsiones cumplidas' },
    'expectation.late': { one: 'Los ficheros esperados llegaron tarde', many: 'previsiones cumplidas tarde' },
    'expectation.missed': { one: 'Los ficheros esperados no llegaron', many: 'previsiones incumplidas' },
    'expectation.excess': { one: 'Más ficheros de los esperados', many: 'previsiones excedidas' },
    'node.started': { one: 'Nodo arrancado', many: 'nodos arrancados' },
    'node.stopped': { one: 'Nodo parado', many: 'nodos parados' },
    'node.lost': { one: 'Nodo perdido', many: 'nodos perdidos' },
    'subscription.disabled': { one: 'Suscripción desactivada', many: 'suscripciones desactivadas' },
    'subscription.test': { one: 'Prueba de esta suscripción', many: 'pruebas de esta suscripción' },
  },
  channel: 'Canal',
  partner: 'Interlocutor',
  reason: 'Motivo',
  file: 'Fichero',
  expectation: 'Previsión',
  day: 'Día',
  due: 'Hora límite',
  came: (count, atLeast) => `${count} de ${atLeast} ficheros`,
  node: 'Nodo',
  subscription: 'Suscripción',
  fingerprint: 'Huella',
  expires: 'Caduca',
  address: 'Dirección',
  by: 'Por',
  open: 'Abrir en la consola',
  summary: (count) => `${count} avisos`,
  more: (count) => `… y ${count} más; todos están en la lista de eventos.`,
  footer: (subscription) =>
    `Recibe este mensaje por la suscripción ${subscription} de Esclusa. Como mucho llega uno cada cinco minutos.`,
}

export const MAIL_WORDS: Record<MailLanguage, MailWords> = { en, es }
