// Subidas, prueba de conexión, alta de un interlocutor y claves en uso, en español.

import type { Words } from './en.ts'

export const uploadsEs: Words['uploads'] = {
  button: 'Subir y enviar',
  title: 'Subir ficheros para enviarlos',
  text: 'Van al directorio de salida del canal. Lo que se enviaría se muestra antes de salir.',
  files: 'Ficheros',
  go: 'Subir',
  stop: 'Detener la subida',
  cancelled: 'La subida se detuvo. El nodo no ha guardado nada del fichero que estaba en curso.',
  failed: 'No se ha subido',
  leave: 'La subida no ha terminado. ¿Salir de todos modos?',
  progress: 'Subida',
  nth: (number, count) => `fichero ${number} de ${count}`,
  done: (count) => (count === '1' ? 'El fichero está en el nodo' : `${count} ficheros están en el nodo`),
}

export const connectionTestEs: Words['connectionTest'] = {
  title: 'Conexión',
  about:
    'El nodo llama al interlocutor hasta su acceso y sus carpetas, y dice qué ha encontrado. No se envía ningún fichero. Puede tardar un minuto.',
  button: 'Probar la conexión',
  good: 'Una llamada saldría bien.',
  bad: 'Una llamada fallaría. Abajo se ve en qué paso y qué hacer.',
  step: 'Paso',
  outcome: 'Resultado',
  seen: 'Qué se ha visto',
  subject: 'Titular',
  issuer: 'Emisor',
  daysLeft: 'Días restantes',
  pinned: 'Fijado',
  fingerprint: 'SHA-256',
  steps: {
    RESOLVE: 'Nombre',
    TCP: 'Conexión',
    TLS: 'Certificado',
    HOST_KEY: 'Clave del servidor',
    LOGIN: 'Acceso',
    RIGHTS: 'Permisos',
  },
  outcomes: { OK: 'Bien', FAILED: 'Fallido', SKIPPED: 'Omitido' },
  advice: {
    CHECK_NAME: 'Compruebe el nombre, o indique la dirección del interlocutor.',
    CHECK_ADDRESS: 'Compruebe la dirección, el puerto y los cortafuegos de ambos extremos.',
    CHECK_TLS: 'Compruebe que el puerto sea el de TLS y que ambos extremos compartan una versión de TLS.',
    CHECK_CERTIFICATE:
      'Compare el certificado con el interlocutor por otra vía; después póngalo como clave del interlocutor en el canal, o su emisor en el interlocutor.',
    RENEW_CERTIFICATE: 'Pida al interlocutor su nuevo certificado antes de que este caduque.',
    CHECK_HOST_KEY: 'Compare la huella con el interlocutor por otra vía; después añádala al interlocutor.',
    CHECK_ALGORITHMS: 'Pida al interlocutor que admita algoritmos más nuevos, o claves mejores.',
    CHECK_LOGIN: 'Compruebe identificaciones, usuario, contraseñas y claves con el interlocutor.',
    CHECK_RIGHTS: 'Compruebe la ruta, y que nuestro usuario pueda listar, escribir y borrar allí.',
    NO_ADDRESS: 'El interlocutor no tiene dirección: añada una.',
    NO_CHANNEL: 'No hay ningún canal por el que llame este nodo: cree uno y pruebe de nuevo.',
    NOT_ENCRYPTED: 'El canal no pide una línea cifrada.',
    NO_FOLDERS: 'No hay carpetas que mirar.',
    AFTER_FAILURE: 'Falló un paso anterior.',
  },
}

export const keyFileEs: Words['keyFile'] = {
  fromFile: (label) => `${label}: de un fichero`,
  unreadable: 'No es un certificado ni una clave que se pueda leer.',
  subject: 'Titular',
  issuer: 'Emisor',
  daysLeft: 'Días restantes',
  kind: 'Tipo',
  fingerprint: 'SHA-256',
}

export const wizardEs: Words['wizard'] = {
  title: 'Nuevo interlocutor, paso a paso',
  about:
    'Quién es, cómo se llega a él, sus claves y su primer canal. No se crea nada antes de que haya visto el plan.',
  open: 'Paso a paso',
  stepsLabel: 'Pasos',
  steps: {
    who: 'Interlocutor',
    reach: 'Cómo se llega a él',
    keys: 'Claves',
    channel: 'Primer canal',
    test: 'Prueba',
  },
  back: 'Atrás',
  next: 'Siguiente',
  idHelp: 'Cómo se le llama aquí; después no se puede cambiar.',
  remoteHelp: 'Su parte de los códigos de canal: letras, cifras, _ y .',
  portHelp: 'Vacío: el del protocolo.',
  noKeys: 'Una carpeta no necesita claves.',
  hostKeysHelp: 'SHA256:…, una por línea, como la diga el interlocutor por otra vía.',
  privateKey: 'Nuestra clave privada, de un fichero',
  localKey: 'Nuestra contraseña',
  remoteKey: 'La contraseña del interlocutor',
  certificate: 'El certificado o la clave pública del interlocutor',
  certificateHelp: 'PEM. Una línea TLS se acepta entonces solo con este certificado.',
  encrypted: 'Línea cifrada (TLS)',
  generate: 'Crear una clave propia para el canal',
  newEntity: 'Una nueva…',
  entityCode: 'Código de la nueva entidad local',
  entityName: 'Nombre de la nueva entidad local',
  entityOftp2Id: 'Identificación OFTP2 de la nueva entidad local',
  like: 'Configurado como',
  fromNothing: 'Nada todavía',
  made: (partner, code) => `${partner} y el canal ${code} están creados.`,
  partly: 'El nodo no lo ha aceptado todo. Lo creado antes se queda.',
  already: 'Ya creado; el próximo plan solo tiene lo que falta:',
  ownCertificate: 'Nuestro certificado',
  ownCertificateHelp: 'Déselo al interlocutor; comparen las huellas por otra vía.',
  toChannel: 'Ir al canal',
}

export const keyListEs: Words['keyList'] = {
  about: 'Con qué firman, cifran y se identifican los canales; primero las que antes caducan.',
  found: (count) => (count === '1' ? '1 clave' : `${count} claves`),
  none: 'Ningún canal tiene clave',
  whose: 'De quién',
  sides: { LOCAL: 'Nuestra', REMOTE: 'Del interlocutor' },
  issuedBy: (issuer) => `emitido por ${issuer}`,
  channels: 'Canales',
  ended: 'Caducado',
  unreadable: 'No se puede leer: se selló con otra clave maestra o se ha alterado después.',
  more: (count) => `y ${count} más`,
  setTitle: 'Poner una clave a un canal',
  channel: 'Código del canal',
  key: 'Certificado o clave',
  save: 'Poner la clave',
  wasSet: (code) => `La clave de ${code} está puesta`,
  ofChannel: 'Claves del canal',
  noneHere: 'Sin clave',
  make: 'Crear una clave propia nueva',
  makeTitle: (code) => `¿Crear una clave propia nueva para ${code}?`,
  makeText:
    'El canal firma con la clave nueva, y abre con ella lo que nos cifran, desde su próxima transferencia. El interlocutor debe recibir el nuevo certificado, que se muestra aquí después: mientras no lo tenga, rechazará lo que firmemos. La parte privada no sale nunca del nodo.',
  replaces: (subject, fingerprint) =>
    `Sustituye a nuestra clave ${[subject, fingerprint].filter(Boolean).join(', ')}, que ya no firma. Lo que el interlocutor siga cifrando para ella se abre hasta que se genere otra; una clave cuyo certificado ha caducado ya no abre nada.`,
  mayReplace:
    'Si el canal tiene una clave propia, se sustituye y ya no firma. Lo que el interlocutor siga cifrando para ella se abre hasta que se genere otra; una clave cuyo certificado ha caducado ya no abre nada.',
  made: (code) => `${code} tiene una clave nueva: dé su certificado al interlocutor`,
}

export const channelSetupEs: Words['channelSetup'] = {
  title: 'Conservación y apertura',
  transfers: 'Días que se conservan las transferencias',
  history: 'Días que se conserva el historial',
  opened: 'Megabytes que puede ocupar un fichero recibido al abrirse',
  unset: {
    transfers: 'Vacío: como esté puesto en el nodo (ESCLUSA_KEEP_TRANSFERS_DAYS).',
    history: 'Vacío: como esté puesto en el nodo (ESCLUSA_KEEP_HISTORY_DAYS).',
    opened: 'Vacío: como esté puesto en el nodo (ESCLUSA_MAX_OPENED_MEGABYTES).',
  },
  saved: 'Guardado',
}
