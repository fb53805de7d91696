// El menú, la cuenta propia y la primera puesta en marcha, en español.

import type { Words } from './en.ts'

export const menuEs: Words['menu'] = {
  overview: 'Resumen',
  channels: 'Canales',
  channel: 'Canal',
  transfer: 'Transferencia',
  transfers: 'Transferencias',
  failures: 'Fallos',
  contacts: 'Contactos',
  account: 'Su cuenta',
}

export const accountEs: Words['account'] = {
  title: 'Su cuenta',
  who: 'Quién es usted',
  username: 'Usuario',
  email: 'Correo electrónico',
  role: 'Rol',
  may: 'Permisos',
  flags: {
    operate: 'Enviar, reintentar y restablecer',
    administration: 'Administración',
    editChannels: 'Cambiar canales',
    administrationFF: 'Administrar firmas',
    controlatorFF: 'Ficheros en cuarentena',
    svcFF: 'Ver certificados de firma',
    contactChannels: 'Ver contactos',
    signer: 'Crear y aceptar claves de firma',
  },
  nothing: 'Solo lectura',
  language: 'Idioma',
  languageHelp: 'De la consola en todos los dispositivos y de los correos que recibe.',
  languageSaved: 'Su idioma se ha guardado',
  password: 'Contraseña',
  passwordHelp: 'Al menos 12 caracteres; ni el usuario ni el correo electrónico.',
  current: 'Contraseña actual',
  next: 'Contraseña nueva',
  again: 'La contraseña nueva otra vez',
  notTheSame: 'Las dos contraseñas nuevas no coinciden.',
  wrong: 'La contraseña actual no es correcta.',
  change: 'Cambiar la contraseña',
  changed: 'Se ha cambiado la contraseña; sus otras sesiones y tokens han terminado',
  changeHelp: 'Sus otras sesiones, accesos y tokens para sistemas terminan; esta página sigue abierta.',
  sessions: 'Dónde tiene la sesión abierta',
  thisOne: 'Esta sesión',
  opened: 'Abierta',
  seen: 'Último uso',
  ends: 'Termina',
  from: 'Desde',
  browser: 'Navegador',
  end: 'Terminarla',
  endOf: (from: string) => `Terminarla: la sesión desde ${from}`,
  ended: 'Se ha terminado la sesión',
  everywhere: 'Cerrar la sesión en todas partes',
  everywhereTitle: '¿Cerrar la sesión en todas partes?',
  everywhereText:
    'Terminan todas sus sesiones y accesos, también esta sesión. Los tokens para sistemas siguen igual.',
}

export const firstRunEs: Words['firstRun'] = {
  title: 'Bienvenida: elija el primer administrador',
  help: 'Esta plataforma aún no tiene usuarios. El código de un solo uso demuestra que usted arrancó el nodo.',
  code: 'Código de un solo uso',
  codeHelp: 'En el terminal donde se arrancó el nodo, o en el fichero first-run-code de su carpeta de datos.',
  email: 'Correo electrónico',
  submit: 'Empezar',
  signIn: 'Entrar como el administrador que se creó',
  wrongCode: 'El código no es el que dio el nodo al arrancar.',
  stepsTitle: 'Primeros pasos',
  steps: [
    'Cree una entidad local: quién es usted para sus interlocutores.',
    'Cree un interlocutor con su protocolo y su dirección, y pruebe la conexión.',
    'Cree un canal entre ambos y diga dónde están sus ficheros.',
    'Envíe un fichero y búsquelo en Transferencias.',
  ],
}
