# `cmake --install` puts the headers, the static libraries of the folders and a package file into the prefix, so that
#
#   find_package(Sconce REQUIRED)
#   target_link_libraries(my_program PRIVATE Sconce::sconce)
#
# is all that a user of the C++ API writes.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SCONCE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Sconce)
set(SCONCE_FOLDERS base program graph record ops passes planner runtime webgpu)
list(TRANSFORM SCONCE_FOLDERS PREPEND sconce_ OUTPUT_VARIABLE SCONCE_TARGETS)

# The public API as one target; the executable has taken the name.
add_library(sconce_api INTERFACE)
set_target_properties(sconce_api PROPERTIES EXPORT_NAME sconce)
target_link_libraries(sconce_api INTERFACE sconce_webgpu)
target_include_directories(sconce_api INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(sconce_api INTERFACE cxx_std_23)

install(TARGETS sconce_api sconce_fmt ${SCONCE_TARGETS} EXPORT SconceTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT SconceTargets NAMESPACE Sconce:: DESTINATION ${SCONCE_PACKAGE_DIR} COMPONENT library)
install(DIRECTORY include/sconce DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SconceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/SconceConfig.cmake ${PROJECT_BINARY_DIR}/SconceConfigVersion.cmake
  DESTINATION ${SCONCE_PACKAGE_DIR} COMPONENT library)
install(TARGETS sconce RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
