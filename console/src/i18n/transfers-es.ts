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

export const severalEs: Words['several'] = {
  group: 'Varias a la vez',
  page: 'Todas las de esta página',
  all: 'Elegir todas las que coinciden',
  one: (code, when) => `Elegir ${code}, ${when}`,
  chosen: (count) => (count === '1' ? '1 elegida' : `${count} elegidas`),
  most: 'las más recientes; puede haber más',
  none: 'No elegir ninguna',
  button: { retry: 'Reintentar las elegidas', reset: 'Reiniciar las elegidas' },
  title: {
    retry: (count) =>
      count === '1'
        ? '¿Reintentar 1 transferencia fallida?'
        : `¿Reintentar ${count} transferencias fallidas?`,
    reset: (count) => (count === '1' ? '¿Reiniciar 1 canal?' : `¿Reiniciar ${count} canales?`),
  },
  text: {
    retry:
      'Una tras otra. Un canal reintenta primero su último fallo, y de uno en uno: lo que ahora no se pueda reintentar se nombra después, con el motivo, y queda elegido.',
    reset:
      'Todos los fallos de estos canales se dan por resueltos, también los no elegidos. Sus transferencias en espera o en curso se cancelan, las conexiones se cierran y los ficheros a medias se eliminan. Lo cancelado no se puede retomar.',
  },
  under: (done, all) => `${done} de ${all} hechas…`,
  stop: 'Detener',
  results: 'Qué ha sido de cada una',
  did: {
    retry: (count) => (count === '1' ? 'Ha empezado 1 reintento.' : `Han empezado ${count} reintentos.`),
    reset: (count) => (count === '1' ? 'Se ha reiniciado 1 fallo.' : `Se han reiniciado ${count} fallos.`),
  },
  rest: (count) => (count === '1' ? '1 no se ha hecho.' : `${count} no se han hecho.`),
  untried: 'Sin intentar: se detuvo antes.',
  impossible: {
    HANDLED: 'No hace falta: ya se reintentó o reinició.',
    SUPERSEDED: 'Aún no: antes hay que reintentar o reiniciar un fallo posterior de su canal.',
    PARTNER: 'Solo el interlocutor puede enviarla de nuevo.',
    BUSY: 'Aún no: otra transferencia de su canal está en curso. Reinténtela cuando termine.',
    CLOSED: 'El canal está cerrado en ese sentido.',
  },
}
