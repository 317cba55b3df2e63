export {
  BoxGeometry, BufferAttribute, BufferGeometry, Color, ConeGeometry, CylinderGeometry,
    DirectionalLight, DoubleSide, Group, HemisphereLight, InstancedMesh, Matrix4, Mesh,
    MeshBasicMaterial, MeshLambertMaterial, MOUSE, OrthographicCamera, PerspectiveCamera,
    Quaternion, Scene, SphereGeometry, TOUCH, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { Line2 } from "three/addons/lines/Line2.js";
export { LineGeometry } from "three/addons/lines/LineGeometry.js";
export { LineMaterial } from "three/addons/lines/LineMaterial.js";
export { LineSegments2 } from "three/addons/lines/LineSegments2.js";
export { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";
export { STLLoader } from "three/addons/loaders/STLLoader.js";
export { OBJLoader } from "three/addons/loaders/OBJLoader.js";
