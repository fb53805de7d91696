// Tokens, el fichero de plataforma y los canales nuevos, en español.

import type { Words } from './en.ts'

export const tokensEs: Words['tokens'] = {
  about: 'Para programas que usan la interfaz: cada uno tiene los derechos de un usuario y se puede revocar.',
  make: 'Crear un token',
  user: 'Usuario',
  name: 'Para qué es',
  hours: 'Horas que vale',
  state: 'Estado',
  expires: 'Caduca',
  used: 'Último uso',
  made: 'Se ha creado el token',
  once: 'Se muestra solo esta vez: cópielo ahora.',
  revoke: 'Revocar',
  revoked: 'Se ha revocado el token',
  revokeTitle: (name) => `¿Revocar «${name}»?`,
  revokeText: 'A quien lo use se le rechazará desde ahora.',
  states: { VALID: 'Válido', EXPIRED: 'Caducado', REVOKED: 'Revocado', NO_USER: 'Sin usuario' },
}

export const platformFileEs: Words['platformFile'] = {
  about: 'La plataforma como fichero: para guardarla, compararla o hacer otra igual.',
  export: 'Sacarla',
  download: 'Descargar el fichero',
  withSecrets: 'Con huellas de contraseñas y claves',
  apply: 'Aplicar un fichero',
  choose: 'Elegir un fichero',
  text: 'El fichero',
  textHelp: 'YAML o JSON. { env } y { file } son para la línea de órdenes.',
  prune: 'Eliminar también lo que el fichero no nombra',
  plan: 'Mostrar qué cambiaría',
  go: 'Aplicar',
  applied: (added, changed, removed) => `${added} añadidos, ${changed} cambiados, ${removed} eliminados`,
}

export const newChannelEs: Words['newChannel'] = {
  title: 'Nuevo canal',
  copyTitle: (code) => `Nuevo canal como ${code}`,
  about: 'Su código se compone de la entidad local, el código remoto y la aplicación.',
  choose: 'Elija…',
  ends: 'Los dos extremos',
  entity: 'Entidad local',
  contact: 'Interlocutor',
  remote: 'Código remoto',
  application: 'Aplicación',
  applicationHelp: 'Letras, dígitos, _ y . – 32 como mucho.',
  files: 'Ficheros',
  name: 'Nombre',
  direction: 'Sentido',
  outbound: 'De dónde se toman los ficheros por enviar',
  inbound: 'Dónde se ponen los recibidos',
  pathHelp: 'Una ruta completa dentro de las raíces de ficheros del nodo.',
  automation: 'Por sí mismo',
  every: 'Cada cuánto, como 5m',
  cron: 'Expresión cron',
  secrets: 'Con claves y contraseñas',
  copy: 'Copiar',
  removeText: 'Su historial y sus transferencias se van con él. Los ficheros se quedan donde están.',
  create: 'Nuevo canal',
  automations: {
    '': 'Nada ocurre por sí mismo',
    watch: 'Enviar lo que aparezca en la carpeta',
    every: 'Cada cierto tiempo',
    cron: 'Según una expresión cron',
  },
}
