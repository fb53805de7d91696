// Las transferencias de todos los canales, en español.

import type { Words } from './en.ts'

export const transfersEs: Words['transfers'] = {
  title: 'Transferencias',
  fileName: 'Nombre del fichero',
  fileNameHint: 'NOMINA* o parte del nombre',
  channels: 'Canal',
  channelsHint: 'Código, nombre…',
  partner: 'Interlocutor',
  status: 'Estado',
  direction: 'Sentido',
  type: 'Iniciada por',
  from: 'Desde',
  to: 'Hasta',
  hash: 'SHA-256',
  hashHint: '64 dígitos 0-f',
  hashFault: 'Un SHA-256 tiene 64 dígitos hexadecimales.',
  daysFault: 'El primer día es posterior al último.',
  sort: 'Orden',
  sorts: { NEWEST: 'Más recientes', OLDEST: 'Más antiguas' },
  csv: 'Como CSV',
  found: (count, more) =>
    more ? `Más de ${count} transferencias` : count === '1' ? '1 transferencia' : `${count} transferencias`,
  none: 'Ninguna transferencia coincide',
  noneHelp: 'Use menos palabras, otros días o quite los filtros.',
  empty: 'Aún no hay transferencias',
  emptyHelp: 'Aquí aparece lo que se envía y se recibe por cualquier canal.',
  stopped: (when) => `La búsqueda llegó hasta ${when} y se detuvo ahí: elija días anteriores para seguir.`,
  when: 'Cuándo',
  files: 'Ficheros',
  moreFiles: (count) => `y ${count} más`,
  size: 'Tamaño',
  by: (who) => `por ${who}`,
}

export const waitingEs: Words['waiting'] = {
  label: 'Espera',
  until: (when) => `hasta ${when}`,
  reason: {
    CLOSED: 'El canal está cerrado en este sentido',
    HOURS: 'Fuera de su horario',
    PARTNER_CALL: 'A que llame el interlocutor',
    PARTNER_DOWN: 'No se llega al interlocutor; próxima llamada',
    RETRY: 'El próximo intento',
    RECEIPT: 'El acuse del interlocutor',
    TURN: 'Un hueco libre',
  },
  pause: {
    title: 'La automatización espera',
    list: 'Automatizaciones en espera',
    until: (when, count) =>
      `Nada se envía solo hasta ${when}: las últimas ${count} emisiones automáticas fallaron.`,
    ends: 'Sigue al momento si cambian los ficheros o el canal, o tras un reintento o un reinicio.',
  },
}

export const transferActionsEs: Words['transferActions'] = {
  willGo: (count, size) => (count === '1' ? `Va 1 fichero, ${size}:` : `Van ${count} ficheros, ${size}:`),
  cancel: 'Cancelar la transferencia',
  resend: 'Enviar de nuevo',
  title: { cancel: '¿Cancelar esta transferencia?', resend: '¿Enviar de nuevo estos ficheros?' },
  text: {
    cancel: 'Se cierra su conexión y se eliminan los ficheros a medias. No se puede retomar.',
    resend:
      'Una transferencia nueva toma los mismos ficheros, tal como se enviaron. El que se movió vuelve primero.',
  },
  why: 'Por qué',
  no: 'Dejarla',
  done: { cancel: 'Se ha cancelado la transferencia', resend: 'Los ficheros se envían de nuevo' },
  download: 'Descargar',
  resendOf: 'Vuelve a enviar',
  original: 'la transferencia completada',
}
