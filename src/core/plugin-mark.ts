/** By which our plugin is known among binaries, whatever its file is called: it says so itself when it is started without a verb. */
export const PLUGIN_MARK = 'a CNI plugin that gives pods addresses of the VPC';
