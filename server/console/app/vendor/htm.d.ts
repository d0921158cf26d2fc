declare const htm: {
  bind<T>(h: (type: any, props: Record<string, any> | null, ...children: any[]) => T): (strings: TemplateStringsArray, ...values: any[]) => T;
};
export default htm;
